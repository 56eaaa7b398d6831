import type { Gateway } from '../support/gateway.ts';

/** What the tests of streams share. */
export interface StreamScene {
  gateway: Gateway;
  apiKey: string;
}

/** A model whose catalog entry says `stream: false`. */
export const bufferedModel = 'deepseek-v3.2';

/** A prompt of a tool's call, whose result the sandbox then answers. */
export const weatherPrompt = 'weather? [[tool=weather args={"city":"Oslo"}]]';
