import { z } from 'zod';

/** Longer than any id that a provider is known to send. A reference is kept in the row of the attempt and sent with each poll. */
const idLengthMax = 500;

/**
 * A provider's id of a job: any text, because an id means nothing to us. Undefined for text that is blank or too long, or that
 * PostgreSQL or a URL cannot hold (control characters, unpaired surrogates). An integer is its digits (`parseExactly`).
 */
export function providerJobId(value: unknown): string | undefined {
  if (Array.isArray(value) && value.length === 1) return providerJobId(value[0]);
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? String(value) : undefined;
  return typeof value === 'string' && isUsable(value) ? value : undefined;
}

const isUsable = (id: string): boolean =>
  id.trim() !== '' && id.length <= idLengthMax && !/\p{Cc}/u.test(id) && id.isWellFormed();

/** An id in a reference that was saved with the attempt. */
export const SavedId = z.string().refine(isUsable);

/**
 * An id as one segment of a path. The encoding, not the alphabet, keeps an id from choosing another path: `..`, `%2f`, `?` and `#`
 * reach the provider as one segment. Dots alone are encoded too (`call-upstream.ts` keeps them so).
 */
export const pathSegment = (id: string): string =>
  /^\.+$/.test(id) ? id.replaceAll('.', '%2E') : encodeURIComponent(id);
