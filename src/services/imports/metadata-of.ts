import { clipped } from './source-values.ts';

/** Facts as metadata of a project or a key, without empty ones, with the limits of metadata (500 characters each). */
export const metadataOf = (
  facts: Readonly<Record<string, string | number | null | undefined>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(facts)
      .filter(([, value]) => value !== null && value !== undefined && value !== '')
      .map(([name, value]) => [name, clipped(String(value), 500)]),
  );
