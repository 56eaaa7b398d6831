import type { JsonObject } from '../../../src/domain/json.ts';
import type { ChatRequest } from '../../../src/domain/chat/chat.ts';
import { readV1OpenaiChat } from '../../../src/http/dialects/openai/openai-chat-request.ts';
import { readResponses } from '../../../src/http/dialects/responses/responses-request.ts';
import { readMessages } from '../../../src/http/dialects/anthropic/anthropic-chat-request.ts';
import { readV1GeminiChat } from '../../../src/http/dialects/gemini/gemini-chat-request.ts';
import { GatewayError } from '../../../src/domain/errors.ts';

const tolerant = { isStrict: false };

const readers: Record<string, (more: JsonObject, reading?: { isStrict: boolean }) => ChatRequest> = {
  'chat completions': (more, reading = tolerant) =>
    readV1OpenaiChat({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...more }, reading),
  responses: (more, reading = tolerant) => readResponses({ model: 'm', input: 'hi', ...more }, reading),
  messages: (more, reading = tolerant) =>
    readMessages({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], ...more }, reading),
  Gemini: (more, reading = tolerant) =>
    readV1GeminiChat('m', { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], ...more }, reading),
};

const fail = (dialect: string): never => {
  throw new Error(`no reader of ${dialect}`);
};

/** Reading changes a body, and cases share theirs. */
export const readBy =
  (dialect: string) =>
  (more: JsonObject, reading?: { isStrict: boolean }): ChatRequest =>
    (readers[dialect] ?? fail(dialect))(structuredClone(more), reading);

export const refusalOf = (run: () => unknown): Pick<GatewayError, 'code' | 'param' | 'message'> => {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, param: error.param, message: error.message };
    throw error;
  }
  throw new Error('nothing was refused');
};
