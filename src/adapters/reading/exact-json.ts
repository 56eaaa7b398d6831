/** An integer of 16 digits or more where JSON has a value. Up to 15 digits every integer is exact as a number. */
const longInteger = /(?:^|[:[,\s])-?\d{16,}\s*(?:[,\]}]|$)/;

/**
 * Parses JSON and keeps the digits of integers that a number cannot hold (above 2^53): they become text. Providers use such integers
 * as ids. Throws a SyntaxError for text that is not JSON.
 */
export function parseExactly(text: string): unknown {
  // The reviver visits every value, so it runs only for the few answers that need it.
  if (!longInteger.test(text)) return JSON.parse(text);
  // Node passes `context` with every value; the types of JSON.parse do not know it.
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const { source } = context ?? {};
    const isRounded = typeof value === 'number' && !Number.isSafeInteger(value);
    return isRounded && source !== undefined && /^-?\d+$/.test(source) ? source : value;
  });
}
