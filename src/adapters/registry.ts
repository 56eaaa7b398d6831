import type { MediaFamilies } from '../domain/tasks/media-support.ts';
import type { VendorRules } from '../domain/chat/vendor-rules.ts';
import type { Adapter } from './channel.ts';
import type { UpstreamCaller } from './upstream/call-upstream.ts';
import { createAnthropic } from './anthropic.ts';
import { createDashscope, dashscopeMedia } from './dashscope.ts';
import { createFal, falMedia } from './fal.ts';
import type { familyNames } from './family-names.ts';
import { createGemini } from './gemini.ts';
import { geminiMediaTypes } from './media/gemini-media.ts';
import { createKling, klingMedia } from './kling.ts';
import { createMinimax, minimaxMedia } from './minimax.ts';
import { createOpenai } from './openai.ts';
import { openaiMediaTypes } from './media/openai-media.ts';
import { openaiVendors } from './chat/openai-vendors.ts';
import { createReplicate, replicateMedia } from './replicate.ts';
import { createRunway, runwayMedia } from './runway.ts';
import { createSeedance, seedanceMedia } from './seedance.ts';
import { createTollgate, tollgateMedia } from './tollgate.ts';
import { createXai, xaiMedia } from './xai.ts';

type CreateAdapter = (caller: UpstreamCaller) => Adapter;

/** Every supported provider family, by the name that channel rows and the catalog use. */
export const adapterFamilies: Readonly<Record<string, CreateAdapter>> = {
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
} satisfies Record<(typeof familyNames)[number], CreateAdapter>;

/**
 * What the adapter of each media family sends of a request. The check of the catalog, the choice of channels and the table in
 * docs/PROVIDERS.md follow from it.
 */
export const mediaFamilies: MediaFamilies = {
  fal: falMedia,
  openai: openaiMediaTypes,
  gemini: geminiMediaTypes,
  replicate: replicateMedia,
  seedance: seedanceMedia,
  kling: klingMedia,
  xai: xaiMedia,
  dashscope: dashscopeMedia,
  minimax: minimaxMedia,
  runway: runwayMedia,
  tollgate: tollgateMedia,
};

/** The families whose chat adapter passes listed further fields through (`chatSupports.extra`). */
export const passingFamilies: readonly string[] = ['openai'];

/** The vendors of each chat family that have tables of their own, by the word `vendor` of a mapping. */
export const chatVendors: Readonly<Record<string, Readonly<Record<string, VendorRules>>>> = { openai: openaiVendors };

/** The families whose chat adapter sends PDFs (`chatSupports.documents`). */
export const documentFamilies: readonly string[] = ['openai', 'anthropic', 'gemini'];

export type Adapters = Readonly<Record<string, Adapter>>;

/** Builds all adapters with one upstream caller. An unknown family is `undefined`, and its channels cannot be used. */
export function createAdapters(caller: UpstreamCaller): Adapters {
  return Object.fromEntries(Object.entries(adapterFamilies).map(([family, create]) => [family, create(caller)]));
}
