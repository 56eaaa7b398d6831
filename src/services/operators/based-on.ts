import type { Database } from '../../db/database.ts';
import { lockResourceVersion, type Resource } from '../../db/operators/resource-versions.ts';
import { demandVersion } from '../catalog/entry-version.ts';

/** The version of a resource on which an operator bases a change. */
export type ReadResource = Resource & { version: string };

/**
 * The database for a change that is based on what was read: each of its transactions locks the resource first, and is refused with
 * `version_conflict` if the resource has another version by then. What does not exist is left to the change itself.
 */
export const basedOn = (db: Database, { version: based, ...resource }: ReadResource): Database =>
  db.beginningWith(async (inside) => {
    const present = await lockResourceVersion(inside, resource);
    if (present !== null) demandVersion(resource.id, { based, present, param: 'If-Match' });
  });
