/** Whether a value asks for nothing: null, false, 0, an empty text or list, or an object of nothing but such values, as `{edits: []}`. */
export function asksForNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === 0 || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.values(value).every(asksForNothing);
}
