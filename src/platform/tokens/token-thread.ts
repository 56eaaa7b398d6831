import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { z } from 'zod';

const TokenThreadRequest = z.object({ id: z.number(), tokenizer: z.literal('o200k'), texts: z.array(z.string()) });

/** The time for one long word grows with the square of its length, so a text is counted in slices. Each may add one token. */
const SLICE_CHARACTERS = 500;

/** Words that look like control tokens are text here. */
const plain = { disallowedSpecial: new Set<string>() };

function tokensOf(text: string): number {
  let tokens = 0;
  for (let at = 0; at < text.length; at += SLICE_CHARACTERS)
    tokens += countTokens(text.slice(at, at + SLICE_CHARACTERS), plain);
  return tokens;
}

parentPort?.on('message', (message: unknown) => {
  const { id, texts } = TokenThreadRequest.parse(message);
  parentPort?.postMessage({ id, tokens: texts.map(tokensOf) });
});
