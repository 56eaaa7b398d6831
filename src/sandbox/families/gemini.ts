import { json, type Family, type FamilyCall, type FamilyParts, type Reply } from '../family.ts';
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
import { countOf, fetchFile, makeSynchronously, recordMedia, secondsOf, stringOf, takeJob } from '../media-family.ts';
import { mediaSize } from '../media-size.ts';

/**
 * Gemini's generateContent for chat and picture models, and Veo's long running predictions, as
 * https://ai.google.dev/api/generate-content, …/gemini-api/docs/image-generation, …/docs/video and …/docs/troubleshooting
 * describe them (read on 2026-11-21), and the model list.
 */
export const gemini: Family = async (parts, call) => {
  // The target of a download's redirect: a file store with signed URLs, which takes no API key.
  const stored = await fetchFile(parts, call, 'gemini');
  if (stored) return stored;
  if (!call.headers['x-goog-api-key']) return authRefused;
  if (call.path === '/models' && call.method === 'GET') return json(200, { models: [modelEntry] });
  const predicted = /^\/models\/([^/:]+):predictLongRunning$/.exec(call.path)?.[1];
  if (predicted !== undefined && call.method === 'POST') return predict(parts, call, predicted);
  const operation = /^\/models\/([^/:]+)\/operations\/([\w-]+)$/.exec(call.path);
  if (operation && call.method === 'GET') return poll(parts, call, operation[1] ?? '', operation[2] ?? '');
  const file = /^\/files\/([\w-]+)-(\d{1,2}):download$/.exec(call.path);
  if (file && call.method === 'GET') {
    return json(302, {}, { location: `${call.baseUrl}/files/${file[1] ?? ''}/${file[2] ?? ''}.mp4` });
  }
  const input = /:generateContent$/.test(call.path) ? objectOf(call.body) : null;
  const modalities: unknown = objectOf(input?.generationConfig)?.responseModalities;
  if (input && Array.isArray(modalities) && modalities.includes('IMAGE')) return picture(parts, call, input);
  return chat(parts, call);
};

async function picture(parts: FamilyParts, call: FamilyCall, input: Fields): Promise<Reply> {
  const complaint = complaintAbout(input);
  if (complaint !== null) return problem(400, 'INVALID_ARGUMENT', complaint);
  const config = objectOf(objectOf(input.generationConfig)?.imageConfig) ?? {};
  const strange = strangeField(config, ['aspectRatio', 'imageSize', 'personGeneration']);
  if (strange !== undefined) return problem(400, 'INVALID_ARGUMENT', unknownName(strange));
  const prompt = objectsOf(input.contents)
    .map(({ parts: asked }) => textOfParts(asked))
    .join('\n');
  const size = mediaSize({ sizes: [config.imageSize], aspectRatio: config.aspectRatio }, 'image');
  const asked = { type: 'image' as const, ...size, seconds: 0, outputs: 1 };
  return makeSynchronously(parts, call, { family: 'gemini', prompt, asked, refusals }, (pictures) => ({
    candidates: [
      {
        ...(pictures.length > 0 && {
          content: {
            role: 'model',
            parts: [
              { text: 'Here it is.' },
              ...pictures.map((bytes) => ({ inlineData: { mimeType: 'image/png', data: bytes.toString('base64') } })),
            ],
          },
        }),
        finishReason: pictures.length > 0 ? 'STOP' : 'NO_IMAGE',
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 1_290, totalTokenCount: 1_302 },
    modelVersion: 'sandbox-image',
    responseId: `sbx${hashOf(call.body)}`,
  }));
}

const veoParameters = [
  ...['aspectRatio', 'resolution', 'durationSeconds', 'negativePrompt', 'personGeneration', 'sampleCount', 'seed'],
];

function predict(parts: FamilyParts, call: FamilyCall, model: string): Reply {
  const input = objectOf(call.body);
  const [instance] = objectsOf(input?.instances);
  const parameters = objectOf(input?.parameters) ?? {};
  const prompt = stringOf(instance?.prompt);
  if (!instance || prompt === '') return problem(400, 'INVALID_ARGUMENT', 'instances[0].prompt is not specified');
  const strange = strangeField(parameters, veoParameters);
  if (strange !== undefined) return problem(400, 'INVALID_ARGUMENT', unknownName(strange));
  const { durationSeconds: seconds } = parameters;
  if (seconds !== undefined && typeof seconds !== 'number') {
    return problem(400, 'INVALID_ARGUMENT', 'The value type for `durationSeconds` needs to be a number.');
  }
  const taken = takeJob(parts, call, {
    family: 'gemini',
    prompt,
    asked: {
      type: 'video',
      ...mediaSize({ sizes: [parameters.resolution], aspectRatio: parameters.aspectRatio }, 'video'),
      seconds: secondsOf(seconds, 8),
      outputs: countOf(parameters.sampleCount),
    },
    refusals: refusalsOfVideo,
  });
  return 'reply' in taken ? taken.reply : json(200, { name: `models/${model}/operations/${taken.id}` });
}

function poll(parts: FamilyParts, call: FamilyCall, model: string, id: string): Reply {
  recordMedia(parts, call, 'poll', { family: 'gemini', prompt: parts.jobs.promptOf(id) });
  const found = parts.jobs.find(id);
  if (!found || found.state === 'missing') return problem(404, 'NOT_FOUND', 'Requested entity was not found.');
  const { job, state } = found;
  const name = `models/${model}/operations/${id}`;
  if (state === 'queued' || state === 'running') return json(200, { name });
  if (state === 'failed') {
    return json(200, {
      name,
      done: true,
      error: { code: 13, message: 'Video generation failed due to an internal server issue.' },
    });
  }
  const samples = Array.from({ length: job.fate === 'no_output' ? 0 : job.outputs }, (_, index) => ({
    video: { uri: `${call.baseUrl}/files/${id}-${index}:download?alt=media` },
  }));
  const made =
    samples.length > 0
      ? { generatedSamples: samples }
      : { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['The video was filtered.'] };
  return json(200, {
    name,
    done: true,
    response: {
      '@type': 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse',
      generateVideoResponse: made,
    },
  });
}

function chat(parts: FamilyParts, call: FamilyCall): Reply {
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
          // An empty answer has a role and nothing else, like the real API.
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

/** The request errors of the real API, so that tests notice a mistake of an adapter. */
function complaintAbout(input: Fields): string | null {
  const strange = strangeField(input, knownFields);
  if (strange !== undefined) return unknownName(strange);
  const contents = objectsOf(input.contents);
  if (contents.length === 0) return 'contents is not specified';
  if (contents.some(({ role }) => role !== undefined && role !== 'user' && role !== 'model')) {
    return 'Please use a valid role: user, model.';
  }
  return contents.some(({ parts }) => objectsOf(parts).length === 0) ? 'contents.parts must not be empty.' : null;
}

const unknownName = (name: string): string =>
  `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`;

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

/** Function results arrive inside user content. */
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
/** A video that is scripted to be lost or to fail late is accepted first. */
const { lost: _lost, late_fail: _lateFail, ...refusalsOfVideo } = refusals;
