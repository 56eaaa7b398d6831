import { json, type Family, type Reply } from '../family.ts';
import {
  answerChat,
  hashOf,
  objectOf,
  objectsOf,
  strangeField,
  textOfParts,
  type ChatAsked,
  type Fields,
} from '../chat.ts';

/**
 * Gemini's generateContent for chat models, as https://ai.google.dev/api/generate-content and
 * …/gemini-api/docs/troubleshooting describe it (read on 2026-11-21), and the model list.
 */
export const gemini: Family = (parts, call) => Promise.resolve(answer(parts, call));

function answer(parts: Parameters<Family>[0], call: Parameters<Family>[1]): Reply {
  if (!call.headers['x-goog-api-key']) return authRefused;
  if (call.path === '/models' && call.method === 'GET') return json(200, { models: [modelEntry] });
  const model = /^\/models\/([^/:]+):generateContent$/.exec(call.path)?.[1];
  if (model === undefined || call.method !== 'POST')
    return problem(404, 'NOT_FOUND', 'Requested entity was not found.');
  const input = objectOf(call.body);
  const complaint = input ? complaintAbout(input) : 'Invalid JSON payload received.';
  if (!input || complaint !== null) return problem(400, 'INVALID_ARGUMENT', complaint ?? '');
  return answerChat(parts, call, toAsked(input), {
    family: 'gemini',
    refusals,
    answer: ({ text, tool, finish, usage }) => ({
      candidates: [
        {
          // Without an answer there is a role and nothing else, as the real one does it.
          content: {
            role: 'model',
            ...((text !== '' || tool) && {
              parts: [
                ...(text === '' ? [] : [{ text }]),
                ...(tool ? [{ functionCall: { name: tool.name, args: tool.arguments } }] : []),
              ],
            }),
          },
          finishReason: finish === 'length' ? 'MAX_TOKENS' : 'STOP',
          index: 0,
        },
      ],
      ...(usage && {
        usageMetadata: {
          promptTokenCount: usage.input,
          ...(usage.output !== 0 && { candidatesTokenCount: usage.output }),
          totalTokenCount: usage.input + usage.output,
        },
      }),
      modelVersion: model,
      responseId: `sbx${hashOf(call.body)}`,
    }),
  });
}

const knownFields = [
  'contents',
  'systemInstruction',
  'generationConfig',
  'tools',
  'toolConfig',
  'safetySettings',
  'cachedContent',
];

/** What the real one would refuse, so that an adapter's slip is seen here. */
function complaintAbout(input: Fields): string | null {
  const strange = strangeField(input, knownFields);
  if (strange !== undefined) return `Invalid JSON payload received. Unknown name "${strange}": Cannot find field.`;
  const contents = objectsOf(input.contents);
  if (contents.length === 0) return 'contents is not specified';
  if (contents.some(({ role }) => role !== undefined && role !== 'user' && role !== 'model')) {
    return 'Please use a valid role: user, model.';
  }
  return contents.some(({ parts }) => objectsOf(parts).length === 0) ? 'contents.parts must not be empty.' : null;
}

function toAsked(input: Fields): ChatAsked {
  const config = objectOf(input.generationConfig);
  const calling = objectOf(objectOf(input.toolConfig)?.functionCallingConfig);
  const allowed: unknown = Array.isArray(calling?.allowedFunctionNames) ? calling.allowedFunctionNames[0] : undefined;
  const system = textOfParts(objectOf(input.systemInstruction)?.parts);
  return {
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, text: system }]),
      ...objectsOf(input.contents).flatMap(toMessages),
    ],
    maxTokens: typeof config?.maxOutputTokens === 'number' ? config.maxOutputTokens : 8_192,
    tools: objectsOf(input.tools)
      .flatMap(({ functionDeclarations }) => objectsOf(functionDeclarations))
      .flatMap(({ name }) => (typeof name === 'string' ? [name] : [])),
    forced: calling?.mode !== 'ANY' ? null : typeof allowed === 'string' ? { name: allowed } : 'any',
    schema:
      config?.responseMimeType === 'application/json'
        ? (objectOf(config.responseJsonSchema ?? config.responseSchema) ?? {})
        : null,
  };
}

/** Answers of functions come inside a user's content. */
function toMessages({ role, parts }: Fields): ChatAsked['messages'] {
  const answers = objectsOf(parts).flatMap(({ functionResponse }) => {
    const answered = objectOf(functionResponse);
    return answered ? [answered] : [];
  });
  const text = textOfParts(parts);
  return [
    ...answers.map(({ response }) => ({ role: 'tool' as const, text: JSON.stringify(response) })),
    ...(text !== '' || answers.length === 0
      ? [{ role: role === 'model' ? ('assistant' as const) : ('user' as const), text }]
      : []),
  ];
}

const modelEntry = { name: 'models/sandbox-chat', displayName: 'Sandbox chat', inputTokenLimit: 1_000_000 };

const problem = (
  code: number,
  status: string,
  message: string,
  details: object[] = [],
  headers: Record<string, string> = {},
): Reply => json(code, { error: { code, message, status, ...(details.length > 0 && { details }) } }, headers);
const because = (reason: string) => ({
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason,
  domain: 'googleapis.com',
});

const authRefused = problem(401, 'UNAUTHENTICATED', 'API key not valid.', [because('API_KEY_INVALID')]);
const refusals = {
  transient: problem(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
  rate_limit: problem(
    429,
    'RESOURCE_EXHAUSTED',
    'Resource has been exhausted.',
    [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }],
    { 'retry-after': '7' },
  ),
  refused: problem(400, 'INVALID_ARGUMENT', 'The prompt was blocked.', [because('PROHIBITED_CONTENT')]),
  auth: authRefused,
  lost: problem(404, 'NOT_FOUND', 'The model is not found for API version v1beta.'),
  late_fail: problem(500, 'INTERNAL', 'An internal error has occurred.'),
};
