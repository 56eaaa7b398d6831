import { citySchema, toolsOf, weather, type RequestFile, type DialectClient } from './dialect-client.ts';
import { countAt, listAt, objectAt, textAt } from './json-at.ts';

const choices = {
  weather: { mode: 'ANY', allowedFunctionNames: [weather.name] },
  any: { mode: 'ANY' },
  allowed: { mode: 'ANY', allowedFunctionNames: [weather.name, 'tool_0'] },
};

const toFile = ({ type, base64 }: RequestFile) => ({ inlineData: { mimeType: type, data: base64 } });

/** Gemini's generateContent. */
export const gemini: DialectClient = {
  path: ({ model, isStream }) =>
    `/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: (ask) => ({
    contents: [
      {
        role: 'user',
        parts: [
          { text: ask.prompt },
          ...(ask.picture ? [{ inlineData: { mimeType: 'image/png', data: ask.picture } }] : []),
          ...(ask.file ? [toFile(ask.file)] : []),
        ],
      },
      ...(ask.answered
        ? [
            ask.answered.turn,
            {
              role: 'user',
              parts: ask.answered.results.map(({ callId, text, picture, file }) => ({
                functionResponse: {
                  id: callId,
                  name: weather.name,
                  response: { result: text },
                  ...(picture && { parts: [{ inlineData: { mimeType: 'image/png', data: picture } }] }),
                  ...(file && { parts: [toFile(file)] }),
                },
              })),
            },
          ]
        : []),
    ],
    ...(ask.hasTool && {
      tools: [
        {
          functionDeclarations: toolsOf(ask).map(({ parameters, ...tool }) => ({
            ...tool,
            parametersJsonSchema: parameters,
          })),
        },
      ],
    }),
    ...(ask.choice && { toolConfig: { functionCallingConfig: choices[ask.choice] } }),
    generationConfig: {
      ...(ask.maxTokens !== undefined && { maxOutputTokens: ask.maxTokens }),
      ...(ask.isStructured && { responseMimeType: 'application/json', responseJsonSchema: citySchema }),
      ...(ask.isThinking && { thinkingConfig: { includeThoughts: true, thinkingLevel: 'HIGH' } }),
      ...(ask.stop !== undefined && { stopSequences: [ask.stop] }),
    },
  }),
  read(answer) {
    const candidate = objectAt(answer, 'candidates', 0);
    const parts = listAt(candidate, 'content', 'parts');
    const usage = objectAt(answer, 'usageMetadata');
    const thoughts = countAt(usage, 'thoughtsTokenCount');
    const textOf = (isThought: boolean): string =>
      parts.flatMap((part) => ((part.thought === true) === isThought ? [textAt(part, 'text')] : [])).join('');
    return {
      text: textOf(false),
      thoughts: textOf(true),
      calls: parts
        .map((part) => objectAt(part, 'functionCall'))
        .filter(({ name }) => name !== undefined)
        .map((call) => ({ id: textAt(call, 'id'), name: textAt(call, 'name'), arguments: objectAt(call, 'args') })),
      finish: textAt(candidate, 'finishReason'),
      usage: {
        input: countAt(usage, 'promptTokenCount'),
        // Gemini counts thoughts apart.
        output: countAt(usage, 'candidatesTokenCount') + thoughts,
        cached: countAt(usage, 'cachedContentTokenCount'),
        thoughts,
      },
      turn: objectAt(candidate, 'content'),
    };
  },
  join(events) {
    const parts = events.flatMap((event) => listAt(event, 'candidates', 0, 'content', 'parts'));
    const last = events.at(-1);
    return {
      ...last,
      candidates: [{ ...objectAt(last, 'candidates', 0), content: { role: 'model', parts } }],
    };
  },
  finishes: { end: 'STOP', length: 'MAX_TOKENS', tool: 'STOP', stopSequence: 'STOP' },
  error({ error }) {
    const [detail] = listAt(error, 'details');
    return { code: textAt(detail, 'reason').toLowerCase(), param: textAt(detail, 'metadata', 'param') };
  },
};
