import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { chatFacts, chatRoute } from '../services/chat/chats.ts';
import { letModelsStream, stream, streamedModels } from '../services/chat/streams.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';

/** The longest answer that may be asked for, at the pace of a slow model: four and a half minutes. */
const [tokens, rate] = [8_192, 30];
const seconds = Math.ceil(tokens / rate);
const models = Object.values(streamedModels);

let gateway: Gateway;
let project: TestProject;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0 });
  project = await gateway.project({ credits: 1_000_000 });
  await letModelsStream(gateway, project.apiKey);
});
afterAll(() => gateway?.stop());

interface Arrived {
  requestId: string;
  words: number;
  seconds: number;
  finish: string | null;
}

const promptOf = (how: string): string => `Long, ${how} [[tokens=${tokens} rate=${rate}]]`;

async function streamed(model: string): Promise<Arrived> {
  const began = performance.now();
  const { requestId, text, finish } = await stream(
    gateway,
    project.apiKey,
    { model, text: promptOf('streamed') },
    { fields: { max_tokens: tokens }, secondsMax: 2 * seconds },
  );
  return { requestId, words: text.split(' ').length, seconds: (performance.now() - began) / 1_000, finish };
}

const Completion = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }), finish_reason: z.string() })),
});

async function whole(model: string): Promise<Arrived> {
  const began = performance.now();
  const messages = [{ role: 'user', content: promptOf('not streamed') }];
  const { headers, body } = await request(`${gateway.baseUrl}${chatRoute}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${project.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, max_tokens: tokens }),
    // Five minutes would be the default, which is little more than the answer takes.
    dispatcher: new Agent({ headersTimeout: 2_000 * seconds, bodyTimeout: 2_000 * seconds }),
  });
  const [choice] = Completion.parse(await body.json()).choices;
  return {
    requestId: String(headers['x-request-id']),
    words: choice?.message.content.split(' ').length ?? 0,
    seconds: (performance.now() - began) / 1_000,
    finish: choice?.finish_reason ?? null,
  };
}

describe('an answer of 8,192 tokens at 30 tokens a second', () => {
  it('arrives whole and is charged whole, streamed and not streamed, from each family at the same time', async () => {
    const arrived = await Promise.all(
      models.flatMap((model) => [
        streamed(model).then((one) => ({ model, how: 'streamed', ...one })),
        whole(model).then((one) => ({ model, how: 'not streamed', ...one })),
      ]),
    );
    for (const one of arrived) {
      console.log(`${one.model}, ${one.how}: ${one.words} tokens in ${one.seconds.toFixed(1)} s, ${one.finish}`);
      expect(one).toMatchObject({ words: tokens, finish: expect.stringMatching(/^(stop|length)$/) });
      expect(one.seconds).toBeGreaterThan(seconds - 5);
      expect(await chatFacts(gateway, one.requestId)).toMatchObject({
        state: 'settled',
        outputTokens: tokens,
        usageEstimated: false,
      });
    }
    expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  });
});
