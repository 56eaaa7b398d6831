import type { CatalogProblem } from './check/findings.ts';

/** An invalid catalog, with all its problems. */
export class CatalogError extends Error {
  readonly problems: readonly CatalogProblem[];

  constructor(problems: readonly CatalogProblem[]) {
    const lines = problems.map(
      ({ file, model, path, message }) => `${[file, model, path].filter(Boolean).join(' ')}: ${message}`,
    );
    super(`The catalog is invalid:\n${lines.join('\n')}`);
    this.name = 'CatalogError';
    this.problems = problems;
  }
}
