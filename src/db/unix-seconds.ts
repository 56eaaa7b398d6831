/** SQL for a time in whole unix seconds, as a JavaScript number. */
export const unixSeconds = (column: string): string => `floor(extract(epoch from ${column}))::float8`;
