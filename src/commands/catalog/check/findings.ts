/** One thing that is wrong with a catalog. `path` is where in the model's entry, as `pricing.unit`. */
export interface CatalogProblem {
  model: string;
  path: string;
  message: string;
}

/** Where a check reports what it finds. A problem refuses the catalog, a warning does not. */
export interface Findings {
  problem: (path: string, message: string) => void;
  warn: (path: string, message: string) => void;
}

/** Reports the values that a list has more than once. */
export function refuseDuplicates(values: readonly unknown[], path: string, { problem }: Findings): void {
  const duplicates = values.filter((value, index) => values.indexOf(value) !== index);
  if (duplicates.length > 0) problem(path, `lists ${quoted([...new Set(duplicates)])} twice`);
}

/** Values as a message shows them. */
export const quoted = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(', ');
