import { letModelsStream } from '../services/chat/streams.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';

/** A gateway whose models stream, and a key. */
export interface StreamScene {
  gateway: Gateway;
  apiKey: string;
}

/** Starts one without a worker. */
export async function startStreamScene(): Promise<StreamScene & { stop(): Promise<void> }> {
  const gateway = await startGateway({ workers: 0 });
  const { apiKey } = await gateway.project({ credits: 100_000 });
  await letModelsStream(gateway, apiKey);
  return { gateway, apiKey, stop: () => gateway.stop() };
}

/** A model whose catalog entry says `stream: false`. */
export const bufferedModel = 'deepseek-v3.2';

/** A prompt of a tool's call, whose result the sandbox then answers. */
export const weatherPrompt = 'weather? [[tool=weather args={"city":"Oslo"}]]';
