/**
 * Reads `Retry-After` as integer seconds from now, given a number or an HTTP date (RFC 9110 §10.2.3). Null if absent or unreadable.
 * The value has no upper bound; the caller must clamp it.
 */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - nowMs) / 1000));
}
