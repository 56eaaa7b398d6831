import { z } from 'zod';
import {
  checkConversation,
  toLength,
  toTemperature,
  type ChatMessage,
  type ChatRequest,
  type ChatTool,
} from '../../../domain/chat/chat.ts';
import { GatewayError } from '../../../domain/errors.ts';
import { fromGeminiSchema } from '../../../domain/chat/gemini-schema.ts';
import { isObject, type JsonObject } from '../../../domain/json.ts';
import type { FieldRules } from '../../request/unknown-fields.ts';
import { arrayOf, validate } from '../../request/validate.ts';
import {
  fieldError,
  FunctionName,
  nonNullFields,
  isNonNull,
  itemsMax,
  v1ItemsMax,
  JsonRecord,
  MaxTokens,
  Temperature,
  toolsMax,
  v1ToolsMax,
  V1MaxTokens,
  withoutHarmless,
  type HarmlessValues,
  V1Stops,
  V1TopK,
  V1TopP,
} from '../chat-fields.ts';
import { contentsWith, messagesOfContents, v1ContentsWith } from './gemini-chat-contents.ts';
import { aliased, withLists, wordOf } from './gemini-fields.ts';
import { allowedTools, type ChosenTools } from '../offered-tools.ts';
import { optionalFields, readOptionalFields } from '../optional-fields.ts';
import { takeProviderTools } from './gemini-provider-tools.ts';
import { leftOutHistory, leftOutTools } from '../provider-tools.ts';
import { readBody, strictly, VendorFieldCollector, type Reading } from '../reading.ts';

/**
 * Reads a generateContent request (https://ai.google.dev/api/generate-content, read 2026-11-21; spec §4.7). `model` is
 * the path's. Throws `missing_parameter`, `invalid_value` or `unsupported_parameter` with `param`. Google's own examples
 * write some fields in snake_case, and so may a client.
 */
export const readGeminiChat = (model: string, body: unknown): ChatRequest =>
  toRequest(model, validate(GeminiChatBody, isObject(body) ? withoutHarmless(body, harmless) : body));

/** The same under `/v1`, with any `maxOutputTokens` of at least 1, one value for a list of one and, unless the reading is strict, without fields that are not known. */
export function readV1GeminiChat(model: string, body: JsonObject, reading: Reading = strictly): ChatRequest {
  withLists(body);
  const taken = reading.isStrict ? { tools: [], history: [] } : takeProviderTools(body);
  const { parsed, leftOut } = readBody(V1GeminiChatBody, withoutHarmless({ ...body }, harmless), geminiRules, reading);
  const own = new VendorFieldCollector();
  own.add(nonNullFields({ mediaResolution: parsed.generationConfig?.mediaResolution }), 'generationConfig');
  own.repeat(nonNullFields(penaltiesOf(parsed.generationConfig)), 'generationConfig', sharedPenalties);
  const tools = declarationsOf(parsed).map((tool, index) => {
    const vendor = own.of(`tools.${index}`, nonNullFields(ownToolFields(tool)), { isWithoutEffect: true });
    return { ...toTool(tool), ...nonNullFields({ vendor }) };
  });
  const calling = parsed.toolConfig?.functionCallingConfig;
  const names = calling?.mode === 'NONE' ? [] : (calling?.allowedFunctionNames ?? []);
  const isForced = calling?.mode === 'ANY';
  const unoffered = [...leftOutTools(taken.tools, { ...reading, isForced }), ...leftOutHistory(taken.history, reading)];
  const chosen = chosenFunctions(names, calling?.mode, tools);
  const single = {
    ...parsed,
    toolConfig: { functionCallingConfig: calling && { ...calling, allowedFunctionNames: [] } },
  };
  return {
    ...toRequest(model, chosen ? single : parsed, v1ToolsMax),
    tools,
    ...chosen,
    extra: furtherOf(parsed.generationConfig),
    ...nonNullFields({ leftOut: leftOut && [...leftOut, ...unoffered], vendor: own.toVendor('gemini') }),
  };
}

/** Reads what a request to count tokens would send to the model: its contents, or a whole request in `generateContentRequest`. */
export function readGeminiCount(model: string, body: JsonObject, reading: Reading): ChatRequest {
  const whole = body['generateContentRequest'] ?? body['generate_content_request'];
  const parsed = JsonRecord.safeParse(whole);
  return readV1GeminiChat(model, parsed.success ? parsed.data : body, reading);
}

/** The allowed functions alone. Undefined if all are allowed, or if the one that must be called is named. */
function chosenFunctions(
  names: readonly string[],
  mode: string | null | undefined,
  tools: ChatTool[],
): Pick<ChosenTools, 'tools' | 'toolChoice'> | undefined {
  const isForced = mode === 'ANY';
  if (names.length === 0 || (isForced && names.length === 1)) return undefined;
  const allowed = new Set(tools.filter(({ name }) => names.includes(name)));
  if (names.some((name) => !tools.some((tool) => tool.name === name)))
    throw fieldError('toolConfig.functionCallingConfig.allowedFunctionNames', 'must name functions of this request');
  return allowedTools(tools, allowed, isForced ? 'required' : 'auto');
}

type ParsedBody = z.output<typeof V1GeminiChatBody>;

function toRequest(model: string, parsed: ParsedBody, functionsMax = toolsMax): ChatRequest {
  const config = parsed.generationConfig ?? {};
  const tools = declarationsOf(parsed).map(toTool);
  if (tools.length > functionsMax) throw fieldError('tools', `at most ${functionsMax} functions`);
  const toolChoice = readToolChoice(parsed.toolConfig?.functionCallingConfig, tools);
  const system = (parsed.systemInstruction?.parts ?? []).map(({ text }) => text).join('\n');
  const messages: ChatMessage[] = [
    ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
    ...messagesOfContents(parsed.contents),
  ];
  checkConversation(messages, 'contents');
  return {
    model,
    messages,
    tools,
    ...toLength(config.maxOutputTokens),
    ...toTemperature(config.temperature, config.topP),
    ...nonNullFields({
      toolChoice,
      responseFormat: readFormat(config),
      topP: config.topP,
      ...readOptionalFields('gemini', config),
      stop: config.stopSequences?.length ? config.stopSequences : null,
      gemini: readGeminiFields(parsed),
    }),
    extra: {},
  };
}

const declarationsOf = ({ tools }: ParsedBody): Declared[] =>
  (tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations ?? []);

const standardTier = ['auto', 'unspecified', 'standard'];
const harmless: HarmlessValues = { store: [false], serviceTier: standardTier, service_tier: standardTier };

const systemWith = (max: number) =>
  z.union([
    z.string().transform((text) => ({ parts: [{ text }] })),
    aliased({
      role: z.string().nullish(),
      parts: z.union([
        arrayOf(aliased({ text: z.string() }), { max }),
        aliased({ text: z.string() }).transform((part) => [part]),
      ]),
    }),
  ]);

const declaration = {
  name: FunctionName,
  description: z.string().nullish(),
  parameters: JsonRecord.nullish(),
  parametersJsonSchema: JsonRecord.nullish(),
};
const Declaration = aliased(declaration);

/** What `@google/genai` says about the answer of a function, which only Gemini is told. */
const V1Declaration = aliased({
  ...declaration,
  response: JsonRecord.nullish(),
  responseJsonSchema: JsonRecord.nullish(),
  behavior: z.string().max(64).nullish(),
});
type Declared = z.output<typeof V1Declaration>;
const ownToolFields = ({ response, responseJsonSchema, behavior }: Declared) => ({
  response,
  responseJsonSchema,
  behavior,
});

/** A word such as `LOW` or `HARM_CATEGORY_HARASSMENT`, in upper or lower case. */
const Word = z.string().regex(/^[A-Za-z0-9_]{1,64}$/, 'must be a word of letters, digits and "_"');

const ThinkingConfig = aliased({
  includeThoughts: z.boolean().nullish(),
  thinkingBudget: z.int().min(-1).max(1_000_000).nullish(),
  thinkingLevel: Word.nullish(),
});

const SafetySetting = aliased({ category: Word, threshold: Word });

const settings = {
  maxOutputTokens: MaxTokens.nullish(),
  temperature: Temperature.nullish(),
  topP: z.number().min(0).max(1).nullish(),
  ...optionalFields('gemini'),
  stopSequences: z.array(z.string().min(1).max(500)).max(5).nullish(),
  candidateCount: z.literal(1).nullish(),
  responseMimeType: z.enum(['text/plain', 'application/json']).nullish(),
  responseSchema: JsonRecord.nullish(),
  responseJsonSchema: JsonRecord.nullish(),
  thinkingConfig: ThinkingConfig.nullish(),
};
const GenerationConfig = aliased(settings);
type GenerationConfig = z.output<typeof GenerationConfig>;
const V1GenerationConfig = aliased({
  ...settings,
  maxOutputTokens: V1MaxTokens.nullish(),
  topK: V1TopK,
  topP: V1TopP,
  stopSequences: V1Stops.nullish(),
  // An answer of text is what there is here.
  responseModalities: z
    .array(wordOf(['TEXT']))
    .max(1)
    .nullish(),
  presencePenalty: z.number().min(-2).max(2).nullish(),
  frequencyPenalty: z.number().min(-2).max(2).nullish(),
  // Gemini alone knows this.
  mediaResolution: Word.nullish(),
});
type Settings = Partial<z.output<typeof V1GenerationConfig>> | null | undefined;
/** Gemini is sent the penalties as its client wrote them, every other family by their shared names. */
const penaltiesOf = (config: Settings) => ({
  presencePenalty: config?.presencePenalty || null,
  frequencyPenalty: config?.frequencyPenalty || null,
});
const sharedPenalties = ['presence_penalty', 'frequency_penalty'];
function furtherOf(config: Settings): JsonObject {
  const { presencePenalty: presence_penalty, frequencyPenalty: frequency_penalty } = penaltiesOf(config);
  return nonNullFields({ presence_penalty, frequency_penalty });
}

const calling = {
  mode: wordOf(['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE']).nullish(),
  allowedFunctionNames: z.array(FunctionName).max(toolsMax).nullish(),
};
const CallingConfig = aliased(calling);
const V1CallingConfig = aliased({
  ...calling,
  // As AUTO, with arguments that are held to the schema.
  mode: wordOf(['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']).nullish(),
  allowedFunctionNames: z.array(FunctionName).max(v1ToolsMax).nullish(),
});

const bodyWith = <T extends z.ZodType, C extends z.ZodType, D extends z.ZodType, F extends z.ZodType>(
  { contents, config, tool, choice }: { contents: T; config: C; tool: D; choice: F },
  { functionsMax, itemsMax: max }: { functionsMax: number; itemsMax: number },
) =>
  aliased({
    // Some SDKs repeat the path's model.
    model: z.string().optional(),
    contents,
    systemInstruction: systemWith(max).nullish(),
    generationConfig: config.nullish(),
    tools: z
      .array(aliased({ functionDeclarations: z.array(tool).max(functionsMax).nullish() }))
      .max(functionsMax)
      .nullish(),
    safetySettings: z.array(SafetySetting).max(20).nullish(),
    toolConfig: aliased({ functionCallingConfig: choice.nullish() }).nullish(),
  });
export const GeminiChatBody = bodyWith(
  { contents: contentsWith(itemsMax), config: GenerationConfig, tool: Declaration, choice: CallingConfig },
  { functionsMax: toolsMax, itemsMax },
);
export const V1GeminiChatBody = bodyWith(
  { contents: v1ContentsWith(v1ItemsMax), config: V1GenerationConfig, tool: V1Declaration, choice: V1CallingConfig },
  { functionsMax: v1ToolsMax, itemsMax: v1ItemsMax },
);

/** What must not be ignored in silence. */
const geminiRules: FieldRules = {
  refused: {
    cachedContent: 'The field cachedContent is not supported: contents are not stored here, so send them in contents.',
    cached_content:
      'The field cached_content is not supported: contents are not stored here, so send them in contents.',
    'generationConfig.responseLogprobs': 'The field generationConfig.responseLogprobs is not supported.',
    'generationConfig.logprobs': 'The field generationConfig.logprobs is not supported.',
    'generationConfig.speechConfig': 'The field generationConfig.speechConfig is not supported: answers are text.',
  },
};

/** The fields that only Gemini itself takes. An empty field changes nothing. */
function readGeminiFields({ generationConfig, safetySettings }: ParsedBody): ChatRequest['gemini'] {
  const { includeThoughts, ...thinking } = generationConfig?.thinkingConfig ?? {};
  const thinkingConfig = nonNullFields({ ...thinking, includeThoughts: includeThoughts || null });
  const fields = {
    ...(Object.keys(thinkingConfig).length > 0 && { thinkingConfig }),
    ...(safetySettings && safetySettings.length > 0 && { safetySettings }),
  };
  return Object.keys(fields).length > 0 ? fields : undefined;
}

const toTool = ({ name, description, parameters, parametersJsonSchema }: z.output<typeof Declaration>) => {
  const schema = parametersJsonSchema ?? (isNonNull(parameters) ? fromGeminiSchema(parameters) : null);
  return { name, ...nonNullFields({ description, parameters: schema }) };
};

function readToolChoice(
  config: z.output<typeof V1CallingConfig> | null | undefined,
  tools: readonly { name: string }[],
): ChatRequest['toolChoice'] {
  const mode = config?.mode ?? 'AUTO';
  const allowed = config?.allowedFunctionNames ?? [];
  const param = 'toolConfig.functionCallingConfig';
  if (tools.length === 0 && mode === 'ANY') throw fieldError(param, 'mode ANY requires at least one function in tools');
  if (!config || tools.length === 0) return undefined;
  if (mode === 'NONE') return 'none';
  if (allowed.length === 0) return mode === 'ANY' ? 'required' : 'auto';
  const [only = ''] = allowed;
  if (mode !== 'ANY' || allowed.length > 1) {
    throw new GatewayError('unsupported_parameter', {
      param: `${param}.allowedFunctionNames`,
      message: 'allowedFunctionNames is supported with one name and mode ANY.',
    });
  }
  if (!tools.some(({ name }) => name === only))
    throw fieldError(`${param}.allowedFunctionNames`, 'must name a function of this request');
  return { name: only };
}

function readFormat(config: GenerationConfig): ChatRequest['responseFormat'] {
  const schema =
    config.responseJsonSchema ??
    (isNonNull(config.responseSchema) ? fromGeminiSchema(config.responseSchema) : undefined);
  if (config.responseMimeType !== 'application/json') {
    if (schema) throw fieldError('generationConfig.responseMimeType', 'must be application/json if a schema is given');
    return undefined;
  }
  return schema ? { type: 'json_schema', name: 'response', schema } : { type: 'json_object' };
}
