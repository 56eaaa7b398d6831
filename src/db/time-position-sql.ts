/** SQL for a position in a list by time, as `timePosition` matches it. */
export const positionAt = (time: string, id: string): string =>
  `(extract(epoch from ${time}) * 1000000)::bigint::text || '.' || ${id}`;

/** SQL for the position of a row that has `created_at` and `id`. */
export const positionOf = (row: string): string => positionAt(`${row}.created_at`, `${row}.id`);

/** SQL for the time of a position, from its microseconds since 1970. */
export const timeOfPosition = (microseconds: string): string =>
  `'epoch'::timestamptz + ${microseconds}::bigint * interval '1 microsecond'`;
