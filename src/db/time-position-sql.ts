/** SQL for the position of a row in a list by time, as `timePosition` matches it. The row has `created_at` and `id`. */
export const positionOf = (row: string): string =>
  `(extract(epoch from ${row}.created_at) * 1000000)::bigint::text || '.' || ${row}.id`;

/** SQL for the time of a position, from its microseconds since 1970. */
export const timeOfPosition = (microseconds: string): string =>
  `'epoch'::timestamptz + ${microseconds}::bigint * interval '1 microsecond'`;
