import { catalogWalks } from './everyday-catalog.ts';
import { firstCallWalk } from './first-call-walk.ts';
import { questionWalks } from './everyday-questions.ts';
import { repairWalks } from './everyday-repairs.ts';
import type { EverydayWalk } from './scene.ts';

/** The everyday jobs of an operator, whole, in a browser alone. */
export const everydayWalks: readonly EverydayWalk[] = [
  ...questionWalks,
  firstCallWalk,
  ...catalogWalks,
  ...repairWalks,
];
