import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openChatChannel } from '../services/chat/held-channel.ts';
import { ownError, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { objectAt, parsed } from './json-at.ts';
import { dialectNames, dialects, type DialectName } from './matrix.ts';

// Its context is 128,000 tokens.
const model = 'deepseek-v3.2';

let gateway: Gateway;
let apiKey: string;
let provider: ChatUpstream;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0 });
  ({ apiKey } = await gateway.project({ credits: 1_000_000 }));
  provider = await startChatUpstream();
  await openChatChannel(gateway, { name: 'short', group: 'openrouter', url: provider.url });
  provider.serve(ownError(400, 'context_length_exceeded'));
});
afterAll(async () => {
  await provider?.die();
  await gateway?.stop();
});

/** The words of the message by which programs recognise that they must shorten the conversation, whatever the dialect. */
const programs = {
  'Claude Code': /prompt is too long/i,
  LiteLLM: /this model's maximum context length is/i,
};
/** Where they read by how much. */
const counting = {
  'Claude Code': /prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)/i,
  'Crush, of Anthropic': /prompt is too long: (\d+) tokens > (\d+) maximum/,
  'Crush, of OpenAI': /maximum context length (?:is|of) (\d+) tokens.*?(?:resulted in|requested) ~?(\d+) tokens/,
};

const cases = dialectNames.flatMap((dialect) => [false, true].map((isStream) => ({ dialect, isStream })));

async function refusalOf(dialect: DialectName, isStream: boolean, prompt: string) {
  const ask = { model, prompt, isStream };
  const client = dialects[dialect];
  const answer = await fetch(gateway.baseUrl + client.path(ask), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(client.body(ask)),
  });
  const body = objectAt(parsed(await answer.text()));
  return { status: answer.status, message: objectAt(body['error'])['message'] };
}

describe('a conversation that is longer than the context', () => {
  it.each(cases)(
    'is refused in words that agents recognise: $dialect, streamed $isStream',
    async ({ dialect, isStream }) => {
      const { status, message } = await refusalOf(dialect, isStream, 'word '.repeat(140_000));
      expect(status).toBe(400);
      for (const words of [...Object.values(programs), ...Object.values(counting)]) expect(message).toMatch(words);
    },
  );

  it.each(cases)(
    'is refused in the same words if the provider refuses it: $dialect, streamed $isStream',
    async ({ dialect, isStream }) => {
      const { status, message } = await refusalOf(dialect, isStream, 'hello');
      expect(status).toBe(400);
      for (const words of Object.values(programs)) expect(message).toMatch(words);
    },
  );
});
