/**
 * `Retry-After` in whole seconds from now, from a count or an HTTP date (RFC 9110 §10.2.3); null when absent or unreadable.
 * Whoever asks sets the bound: a count may be of any size.
 */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - nowMs) / 1000));
}
