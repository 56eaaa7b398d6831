import type { CatalogEntry } from '../../api/admin-types.ts';

/** The state of a model as every page names it. Clients see those that are neither hidden nor retired. */
export function modelState({ status, private: { public: isPublic, retired } }: CatalogEntry): string {
  if (retired !== undefined) return 'retired';
  if (!isPublic) return 'hidden';
  return ['deprecated', 'sunset', 'ending'].includes(status) ? 'ending' : status;
}
