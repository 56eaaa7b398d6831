import type { SpecLine } from './spec-lines.ts';

/**
 * Says which lines of the specification the test shows in which this call stands. It does nothing when the test runs:
 * `npm run docs:spec` reads these calls and writes the table of docs/SPEC.md from them.
 */
export function spec(..._lines: [SpecLine, ...SpecLine[]]): void {}
