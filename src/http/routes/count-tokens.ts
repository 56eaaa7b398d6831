import { findModelFor } from '../../services/catalog/find-model.ts';
import { carriedTo } from '../../services/chat/ask-channel.ts';
import { measuredDocuments, prepareChat } from '../../services/chat/prepare-chat.ts';
import type { ChatRequest } from '../../domain/chat/chat.ts';
import type { JsonObject } from '../../domain/json.ts';
import { keyOf, noteModelIn, type AppContext } from '../context.ts';
import { inWords, type DialectWords } from '../dialects/dialect-words.ts';
import type { Reading } from '../dialects/reading.ts';
import { ignoredFields, readingOf, tellIgnored } from '../request/ignored-fields.ts';
import type { ChatRouteDeps } from './answer-chat.ts';

/** How one dialect asks for a count of tokens. */
interface CountDialect<Count> {
  /** Reads what would be sent to the model. Throws as the reader of a chat does. */
  read: (ctx: AppContext, body: JsonObject, reading: Reading) => ChatRequest;
  words: DialectWords;
  write: (tokens: number) => Count;
}

/**
 * A count of the tokens of a request. It costs nothing and asks no provider: the answer is the gateway's own estimate, which is billed
 * where a provider reports no usage.
 */
export const countTokensRoute =
  <Count>(deps: ChatRouteDeps, { read, words, write }: CountDialect<Count>) =>
  async (ctx: AppContext): Promise<Count> => {
    const request = read(ctx, ctx.request.body ?? {}, readingOf(ctx));
    const entry = await findModelFor(deps, request.model, keyOf(ctx), { noteModel: noteModelIn(ctx) });
    try {
      const measured = await measuredDocuments(deps, { entry, request, key: keyOf(ctx) });
      const prepared = prepareChat(deps, entry, measured);
      const [family] = prepared.families;
      const { leftOut } = family === undefined ? request : carriedTo(deps, prepared, family);
      tellIgnored(ctx, ignoredFields(leftOut, words));
      const { hold } = prepared;
      return write(Math.min(hold.likelyInputTokens, hold.inputTokens));
    } catch (error) {
      throw inWords(words, error);
    }
  };
