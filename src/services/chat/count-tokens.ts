import type { Deps } from '../../deps.ts';
import type { ChatReply, ChatRequest } from '../../domain/chat/chat.ts';
import {
  inputTexts,
  needsCounting,
  outputTexts,
  type PlausibleCounts,
  type CountedTokens,
} from '../../domain/chat/chat-hold.ts';

/**
 * The tokens of a chat whose provider did not report all of them at its end, by the tokenizer of the family that answered. Null if the provider
 * reported them, if the family has no tokenizer, or if it did not count in time: then the estimate is by script.
 */
export async function countTokens(
  { adapters, tokenCounter }: Pick<Deps, 'adapters' | 'tokenCounter'>,
  family: string,
  request: ChatRequest,
  reply: ChatReply,
  plausible: PlausibleCounts,
): Promise<CountedTokens | null> {
  const tokenizer = adapters[family]?.tokenizer;
  if (tokenizer === undefined || !needsCounting(reply, plausible)) return null;
  const texts = [inputTexts(request), outputTexts(reply)].map((some) => some.join('\n'));
  const [input, output] = (await tokenCounter.count(tokenizer, texts)) ?? [];
  return input === undefined || output === undefined ? null : { input, output };
}
