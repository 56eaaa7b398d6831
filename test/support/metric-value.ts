/** The value of a series on a page of /metrics, named with its labels as they are written there; NaN if the page has none. */
export function metricValue(page: string, series: string): number {
  const line = page.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? NaN : Number(line.slice(series.length + 1));
}
