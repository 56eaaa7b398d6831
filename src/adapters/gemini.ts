import { z } from 'zod';
import {
  isDataUri,
  partsOfContent,
  splitDataUri,
  textOfContent,
  type ChatMessage,
  type ChatPart,
  type ChatPicture,
  type ChatUsage,
  type PdfPart,
  type UpstreamChat,
} from '../domain/chat/chat.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { optionalNamesIn, optionalFieldsOf } from '../domain/chat/optional-parameters.ts';
import { alwaysThinks, isEffort, thinkingBudget, wantedEffort, type Effort } from '../domain/chat/reasoning.ts';
import type { Adapter } from './channel.ts';
import type { RequestBody, UpstreamCaller } from './upstream/call-upstream.ts';
import { objectIn, ownObject, splitSystem, toTurns, filesAfterResults, kindsOf } from './chat/sent-messages.ts';
import { tokenCount } from './chat/whole-usage.ts';
import { familyCalls } from './upstream/family-calls.ts';
import { replyOfEvents } from './chat/chat-events.ts';
import { fieldsIn, fieldsInEach, firstFieldsIn } from './chat/event-fields.ts';
import { geminiEvents } from './chat/gemini-stream.ts';
import { readGeminiError } from './upstream/gemini-error.ts';
import { geminiAuthorization, geminiMedia } from './media/gemini-media.ts';

/**
 * Gemini's generateContent. Base URL `https://generativelanguage.googleapis.com/v1beta`.
 *
 * Read on 2026-11-22: https://ai.google.dev/api/generate-content, https://ai.google.dev/api/caching (Content, Part, Tool),
 * https://ai.google.dev/gemini-api/docs/function-calling, …/thought-signatures, …/thinking, …/file-input-methods, …/troubleshooting
 * and the types of `@google/genai` 3.1.0.
 *
 * Gemini fetches images by URL itself. All system and developer messages become `systemInstruction`. `user` is not sent, because
 * Gemini has no such field and it does not affect the answer.
 */
export function createGemini(caller: UpstreamCaller): Adapter {
  const { chatBy, chatStreamBy, probeBy, modelListBy } = familyCalls(caller, {
    headers: geminiAuthorization,
    toolRules: () => ({ nameRefused: /[^\w.:-]/g, nameMax: 64, beginsWithLetter: true }),
    readError: readGeminiError,
  });
  return {
    chatSupports: {
      parameters: optionalNamesIn('gemini').map(({ parameter }) => parameter),
      stopMax: 5,
      blankStops: true,
      toolsMax: 512,
      extra: false,
      documents: { urls: true },
      gemini: true,
      vendorApi: 'gemini',
      translates: ['reasoning_effort'],
    },
    stopsAtHangUp: true,
    ...geminiMedia(caller),
    chatWarnings: warningsOf,
    chat: chatBy(({ model }) => `/models/${encodeURIComponent(model)}:generateContent`, toBody, toReply),
    chatStream: chatStreamBy(
      ({ model }) => `/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
      toBody,
      { events: () => geminiEvents(toUsage), reply: toReply },
    ),
    probe: probeBy('/models?pageSize=1', GeminiList),
    listModels: modelListBy('/models?pageSize=1000', GeminiList, ({ models, nextPageToken: token }) => ({
      names: models.map(({ name }) => name.replace(/^models\//, '')),
      next: token ? `/models?pageSize=1000&pageToken=${encodeURIComponent(token)}` : null,
    })),
  };
}

const GeminiList = z.object({ models: z.array(z.object({ name: z.string() })), nextPageToken: z.string().nullish() });

function toBody(request: UpstreamChat): RequestBody {
  const { system, conversation } = splitSystem(request.messages);
  const contents = toContents(filesAfterResults(conversation, takenInResults(request)), request.traits);
  // A conversation must have a user turn.
  const isAlone = contents.length === 0;
  return {
    contents: isAlone ? [{ role: 'user', parts: [{ text: system }] }] : contents,
    systemInstruction: isAlone || system === '' ? undefined : { parts: [{ text: system }] },
    generationConfig: toConfig(request),
    ...(request.tools.length > 0 && {
      tools: [{ functionDeclarations: request.tools.map(toDeclaration) }],
      ...toToolConfig(request),
    }),
    ...(request.gemini?.safetySettings && { safetySettings: request.gemini.safetySettings }),
  };
}

/**
 * Gemini 3 takes the bytes of pictures and PDFs inside a function's result. Earlier models, and files by URL, need them beside it
 * (https://ai.google.dev/gemini-api/docs/function-calling, "Multimodal function responses", and `@google/genai` 3.1.0, read 2026-11-26).
 */
const takenInResults =
  ({ traits }: UpstreamChat) =>
  ({ url }: ChatPicture | PdfPart): boolean =>
    traits?.thinking === 'adaptive' && isDataUri(url);

const toDeclaration = ({ name, description, parameters, vendor }: UpstreamChat['tools'][number]): RequestBody => ({
  name,
  description,
  parametersJsonSchema: parameters,
  ...vendor,
});

function toConfig(request: UpstreamChat): RequestBody {
  const format = request.responseFormat;
  const thinkingConfig = toThinking(request);
  return {
    ...ownObject(request, 'generationConfig'),
    maxOutputTokens: request.maxTokens,
    candidateCount: 1,
    temperature: request.temperature,
    topP: request.topP,
    ...optionalFieldsOf('gemini', request),
    // Google's is an integer of 32 bits.
    ...(request.seed !== undefined && { seed: request.seed | 0 }),
    ...(thinkingConfig && { thinkingConfig }),
    ...(format && format.type !== 'text' && { responseMimeType: 'application/json' }),
    ...(format?.type === 'json_schema' && { responseJsonSchema: format.schema }),
    ...request.fixed,
  };
}

function toToolConfig({ toolChoice }: UpstreamChat): JsonObject {
  if (toolChoice === undefined) return {};
  const config: JsonObject =
    typeof toolChoice === 'object'
      ? { mode: 'ANY', allowedFunctionNames: [toolChoice.name] }
      : { mode: { auto: 'AUTO', none: 'NONE', required: 'ANY' }[toolChoice] };
  return { toolConfig: { functionCallingConfig: config } };
}

/**
 * The client's own `thinkingConfig`, or its effort as a level (Gemini 3) or as a budget of tokens (Gemini 2.5). A client that lets the
 * model decide how long it thinks is shown the thoughts.
 */
function toThinking(request: UpstreamChat): JsonObject | undefined {
  const { gemini, traits, maxTokens, thinking } = request;
  if (gemini?.thinkingConfig) return gemini.thinkingConfig;
  if (!traits?.thinking) return undefined;
  const effort = wantedEffort(request);
  const isShown = thinking?.display !== 'omitted';
  if (!isEffort(effort)) return thinking?.mode === 'adaptive' ? { includeThoughts: isShown } : undefined;
  const includeThoughts = isShown && effort !== 'none';
  if (traits.thinking === 'adaptive') {
    const level = levels[effort];
    const thinkingLevel = level === 'MINIMAL' && traits.thinking_off === 'never' ? 'LOW' : level;
    return { thinkingLevel, includeThoughts };
  }
  if (effort === 'none') return { thinkingBudget: traits.thinking_off === 'never' ? proBudgetMin : 0 };
  const requestedBudget = thinking?.budgetTokens;
  const budget =
    requestedBudget === undefined ? thinkingBudget(effort, maxTokens, budgetMin) : Math.min(requestedBudget, maxTokens);
  return { ...(budget !== null && { thinkingBudget: budget }), includeThoughts };
}

/** `MINIMAL` is the least of Gemini 3. Models with `thinking_off: never` refuse it. */
const levels = {
  none: 'MINIMAL',
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
} satisfies Record<Effort, string>;
/** The least budget of Gemini 2.5 Flash-Lite. The other models take less. */
const budgetMin = 512;
/** The least budget of Gemini 2.5 Pro, which always thinks. */
const proBudgetMin = 128;

/** What a client that wants no thoughts is told of a model that always thinks. Gemini's own words are sent as they are. */
function warningsOf(request: UpstreamChat): string[] {
  const sent = request.gemini?.thinkingConfig ? undefined : toThinking(request);
  if (!sent || request.traits?.thinking_off !== 'never' || wantedEffort(request) !== 'none') return [];
  return [alwaysThinks(sent.thinkingLevel ? 'the effort low' : `${proBudgetMin} tokens of thoughts`)];
}

function toContents(messages: ChatMessage[], traits: UpstreamChat['traits']): RequestBody[] {
  // Gemini refers to the function by its name, and our messages by the id of the call. A later call may have the same id.
  const names = new Map<string, string>();
  const turns = toTurns(messages, 'model', (message) => {
    if (message.role === 'assistant') for (const { id, name } of message.toolCalls) names.set(id, name);
    return toParts(message, names, traits);
  });
  return turns.map(({ role, parts }) => ({ role, parts }));
}

/** Google's value for a call of the model whose signature the client did not keep. Gemini 3 refuses a call without any. */
const unknownSignature = 'skip_thought_signature_validator';

function toParts(
  message: ChatMessage,
  names: ReadonlyMap<string, string>,
  traits: UpstreamChat['traits'],
): JsonValue[] {
  if (message.role === 'tool') {
    const name = names.get(message.toolCallId) ?? message.toolCallId;
    const files = partsOfContent(message.content).filter(({ type }) => type !== 'text');
    const text = textOfContent(message.content) || (files.length > 0 ? `The result is the ${kindsOf(files)}.` : '');
    const key = message.isError ? 'error' : 'result';
    // A function's result must be an object. Other text goes into one, under the keys that Google's guide uses.
    const response = objectIn(text) ?? { [key]: text };
    const parts = files.length > 0 && { parts: files.map(toPart) };
    return [{ functionResponse: { id: message.toolCallId, name, response, ...parts } }];
  }
  const parts: JsonValue[] = partsOfContent(message.content).map(toPart);
  if (message.role !== 'assistant') return parts;
  // Of calls that were made together, only the first has a signature.
  const isUnsigned = traits?.thinking === 'adaptive' && message.toolCalls.every(({ signature }) => !signature);
  const calls = message.toolCalls.map(({ id, name, arguments: text, signature: own }, index) => {
    const signature = own ?? (isUnsigned && index === 0 ? unknownSignature : undefined);
    return {
      functionCall: { id, name, args: objectIn(text) ?? {} },
      ...(signature !== undefined && { thoughtSignature: signature }),
    };
  });
  return [...parts, ...calls];
}

function toPart(part: ChatPart): JsonObject {
  if (part.type === 'text') return { text: part.text };
  const inline = splitDataUri(part.url);
  if (inline) return { inlineData: { mimeType: inline.mimeType, data: inline.base64 } };
  const mimeType = part.type === 'document' ? 'application/pdf' : imageTypeOf(part.url);
  return { fileData: { fileUri: part.url, mimeType } };
}

/** Gemini wants a type with a URL, and the image is not fetched. By the name of the file; the usual type for other names. */
function imageTypeOf(url: string): string {
  const extension = /\.(png|webp|heic|heif|jpe?g)$/i.exec(new URL(url).pathname)?.[1]?.toLowerCase() ?? 'jpeg';
  return `image/${extension === 'jpg' ? 'jpeg' : extension}`;
}

const GeminiUsage = z.object({
  promptTokenCount: tokenCount,
  toolUsePromptTokenCount: tokenCount,
  candidatesTokenCount: tokenCount,
  thoughtsTokenCount: tokenCount,
  cachedContentTokenCount: tokenCount,
});

/** A whole answer is the only event of a streamed one. */
const toReply = (json: unknown) => {
  const parts = fieldsIn(firstFieldsIn(fieldsIn(json)?.candidates)?.content)?.parts ?? [];
  if (!Array.isArray(parts)) return null;
  const hasText = fieldsInEach(parts).some(({ text, thought }) => typeof text === 'string' && thought !== true);
  return replyOfEvents(geminiEvents(toUsage), [json], hasText ? '' : null);
};

/** The prompt count includes cached tokens. Thinking is counted apart from the candidates and billed as output. */
function toUsage(json: unknown, hasContent: boolean): ChatUsage | null {
  const usage = GeminiUsage.safeParse(json).data;
  if (!usage || usage.promptTokenCount === null) return null;
  const { thoughtsTokenCount: thoughts, cachedContentTokenCount: cached } = usage;
  return {
    inputTokens: usage.promptTokenCount + (usage.toolUsePromptTokenCount ?? 0),
    // Gemini omits zero counts, so a missing count is zero unless the answer has content.
    outputTokens:
      usage.candidatesTokenCount === null && hasContent ? null : (usage.candidatesTokenCount ?? 0) + (thoughts ?? 0),
    cachedTokens: cached ?? undefined,
    reasoningTokens: thoughts ?? undefined,
  };
}
