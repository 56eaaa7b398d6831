/**
 * The parameters of a statement, with arrays of scalars as PostgreSQL writes them. The client joins them element by element, which was 7 kB of
 * garbage for each chat of a batch of eight. JSON quotes as PostgreSQL does, but for control characters: where there is a backslash, the client
 * does it.
 */
export const toArrays = (parameters: readonly unknown[]): unknown[] => parameters.map(arrayLiteral);

function arrayLiteral(parameter: unknown): unknown {
  if (!Array.isArray(parameter)) return parameter;
  const json = JSON.stringify(parameter);
  return json.includes('\\') ? parameter : `{${json.slice(1, -1)}}`;
}
