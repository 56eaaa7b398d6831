export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
export const isLine = (line: string): boolean => /^# (HELP|TYPE) [\w:]+ \S/.test(line) || sampleLine.test(line);

export const samplesOf = (page: string): Sample[] =>
  page.split('\n').flatMap((line) => {
    const [, name, labels = '', value = ''] = sampleLine.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });

/** The sum of the series of this name that have these labels; NaN if there is none. */
export function sumOf(page: string, name: string, labels: Record<string, string> = {}): number {
  const found = samplesOf(page).filter(
    (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? NaN : found.reduce((total, { value }) => total + value, 0);
}

/** What each name on a page is: `counter`, `gauge` or `histogram`. */
export const typesOf = (page: string): Map<string, string> =>
  new Map([...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
