import type { Adapter } from './channel.ts';
import type { UpstreamCaller } from './call-upstream.ts';
import { createAnthropic } from './anthropic.ts';
import { createDashscope } from './dashscope.ts';
import { createFal } from './fal.ts';
import { createGemini } from './gemini.ts';
import { createKling } from './kling.ts';
import { createMinimax } from './minimax.ts';
import { createOpenai } from './openai.ts';
import { createReplicate } from './replicate.ts';
import { createRunway } from './runway.ts';
import { createSeedance } from './seedance.ts';
import { createTollgate } from './tollgate.ts';
import { createXai } from './xai.ts';

/** Every supported provider family, by the name that channel rows and the catalog use. */
export const adapterFamilies: Readonly<Record<string, (caller: UpstreamCaller) => Adapter>> = {
  fal: createFal,
  openai: createOpenai,
  gemini: createGemini,
  anthropic: createAnthropic,
  replicate: createReplicate,
  seedance: createSeedance,
  kling: createKling,
  xai: createXai,
  dashscope: createDashscope,
  minimax: createMinimax,
  runway: createRunway,
  tollgate: createTollgate,
};

/** The families whose chat adapter passes listed further fields through (`chatSupports.extra`). */
export const passingFamilies: readonly string[] = ['openai'];

export type Adapters = Readonly<Record<string, Adapter>>;

/** Builds all adapters with one upstream caller. An unknown family is `undefined`, and its channels cannot be used. */
export function createAdapters(caller: UpstreamCaller): Adapters {
  return Object.fromEntries(Object.entries(adapterFamilies).map(([family, create]) => [family, create(caller)]));
}
