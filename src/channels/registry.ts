import type { Adapter } from './channel.ts';
import type { UpstreamCaller } from './call-upstream.ts';
import { createAnthropic } from './anthropic.ts';
import { createFal } from './fal.ts';
import { createGemini } from './gemini.ts';
import { createOpenai } from './openai.ts';

/** Every provider family that can be spoken to, by the name that channel rows and the catalog use. One line per family. */
export const adapterFamilies: Readonly<Record<string, (caller: UpstreamCaller) => Adapter>> = {
  fal: createFal,
  openai: createOpenai,
  gemini: createGemini,
  anthropic: createAnthropic,
};

export type Adapters = Readonly<Record<string, Adapter>>;

/** Builds all adapters over one caller. An unknown family is `undefined`: the channel cannot be used. */
export function createAdapters(caller: UpstreamCaller): Adapters {
  return Object.fromEntries(Object.entries(adapterFamilies).map(([family, create]) => [family, create(caller)]));
}
