import type { ByteRange } from '../../platform/files/file-store.ts';

/**
 * The single range that a `Range` header requests of a file with `bytes`. Null means to send the whole file, which RFC 9110 §14.2
 * allows for a malformed header, other units, or several ranges.
 */
export function parseRange(header: string, bytes: number): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header);
  if (!match) return null;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return null;
  if (first === '') {
    const suffix = Number(last);
    return suffix === 0 || bytes === 0 ? 'unsatisfiable' : { start: Math.max(0, bytes - suffix), end: bytes - 1 };
  }
  const start = Number(first);
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (last !== '' && Number(last) < start) return null;
  return start >= bytes ? 'unsatisfiable' : { start, end };
}
