/** SQL for a time in whole unix seconds, as a JavaScript number. `extract` would compute it as numeric, which takes several times as long. */
export const unixSeconds = (column: string): string => `floor(date_part('epoch', ${column}))`;
