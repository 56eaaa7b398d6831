import type { Family } from './family.ts';
import { anthropic } from './families/anthropic.ts';
import { dashscope } from './families/dashscope.ts';
import { fal } from './families/fal.ts';
import { gemini } from './families/gemini.ts';
import { kling } from './families/kling.ts';
import { minimax } from './families/minimax.ts';
import { openai } from './families/openai.ts';
import { replicate } from './families/replicate.ts';
import { runway } from './families/runway.ts';
import { seedance } from './families/seedance.ts';
import { tollgate } from './families/tollgate.ts';
import { xai } from './families/xai.ts';

/** The families of the sandbox, by the name in its paths. */
export const families: Readonly<Record<string, Family>> = {
  fal,
  openai,
  gemini,
  anthropic,
  replicate,
  seedance,
  kling,
  xai,
  dashscope,
  minimax,
  runway,
  tollgate,
};
