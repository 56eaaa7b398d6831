import type { Channel } from '../api/admin-types.ts';
import { number, time } from '../ui/format.ts';

const words = { rpm: 'requests a minute', tpm: 'tokens a minute', parallel: 'at the same time' } as const;
const names = ['rpm', 'tpm', 'parallel'] as const;

/** What a channel or a credential may be asked for, what counts now, and which limit keeps it out of the draw. */
export function limitsText({ used, not_drawn: full, until, ...limits }: Channel['limits']): string {
  const parts = names.flatMap((name) => {
    const limit = limits[name];
    if (limit === null) return [];
    const wait = full === name && until !== null ? `, not drawn until ${time(until)}` : '';
    return [`${number(used[name])} of ${number(limit)} ${words[name]}${wait}`];
  });
  return parts.length === 0 ? 'None' : parts.join('; ');
}
