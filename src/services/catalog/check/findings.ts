/** One problem of a catalog. `path` is where it stands in the model's entry, such as `pricing.unit`. */
export interface CatalogProblem {
  /** The file with the model, if the catalog was read from files. */
  file?: string | undefined;
  model: string;
  path: string;
  message: string;
}

/** Collects the findings of the checks. A catalog with problems is refused, one with warnings is not. */
export interface Findings {
  problem: (path: string, message: string) => void;
  warn: (path: string, message: string) => void;
}

export function refuseDuplicates(values: readonly unknown[], path: string, { problem }: Findings): void {
  const duplicates = values.filter((value, index) => values.indexOf(value) !== index);
  if (duplicates.length > 0) problem(path, `lists ${quotedList([...new Set(duplicates)])} twice`);
}

/** Values as a message shows them. */
export const quotedList = (values: readonly unknown[]): string =>
  values.map((value) => JSON.stringify(value)).join(', ');
