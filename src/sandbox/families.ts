import type { Family } from './family.ts';
import { fal } from './families/fal.ts';

/** The families that the sandbox speaks, by the name in its paths. One line per family. */
export const families: Readonly<Record<string, Family>> = {
  fal,
};
