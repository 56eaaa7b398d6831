import { json, listPage, type Family, type FamilyCall, type Reply } from '../family.ts';
import {
  answerChat,
  hashOf,
  offeredTools,
  objectOf,
  objectsOf,
  strangeField,
  stringsOf,
  textOfParts,
  turnOf,
  type ChatAnswered,
  type ChatRequest,
  type Fields,
  type ToolCalled,
} from '../chat.ts';
import { cameWith, partsIn } from '../earlier-calls.ts';
import { complaintAboutDocuments, geminiDocuments, tokensPerPage } from '../documents.ts';
import type { StreamWords } from '../chat-stream.ts';
import {
  countOf,
  fetchFile,
  findProviderJob,
  makeSynchronously,
  secondsOf,
  stringOf,
  acceptProviderJob,
} from '../media-family.ts';
import { mediaSize } from '../media-size.ts';
import { interactions } from './gemini-interactions.ts';

/**
 * Gemini's generateContent for chat and picture models, Veo's long running predictions and Omni's interactions, as
 * https://ai.google.dev/api/generate-content, …/gemini-api/docs/image-generation, …/docs/video and …/docs/troubleshooting
 * describe them (read on 2026-11-21), and the model list.
 */
export const gemini: Family = async (call) => {
  // The target of a download's redirect: a file store with signed URLs, which takes no API key.
  const stored = await fetchFile(call);
  if (stored) return stored;
  if (!call.headers['x-goog-api-key']) return authRefused;
  if (call.path === '/models' && call.method === 'GET') {
    const { search } = call;
    const page = await listPage(call, { limit: search.get('pageSize') ?? '50', after: search.get('pageToken') });
    const models = page.names.map((name) => ({ ...modelEntry, name: `models/${name}` }));
    return json(200, { models, ...(page.more !== null && { nextPageToken: page.more }) });
  }
  const predicted = /^\/models\/([^/:]+):predictLongRunning$/.exec(call.path)?.[1];
  if (predicted !== undefined && call.method === 'POST') return predict(call, predicted);
  const operation = /^\/models\/([^/:]+)\/operations\/([\w-]+)$/.exec(call.path);
  if (operation && call.method === 'GET') return poll(call, operation[1] ?? '', operation[2] ?? '');
  if (call.path.startsWith('/interactions')) return interactions(call, refusals);
  const file = /^\/files\/([\w-]+)-(\d{1,2}):download$/.exec(call.path);
  if (file && call.method === 'GET') {
    return json(302, {}, { location: `${call.baseUrl}/files/${file[1]}/${file[2]}.mp4` });
  }
  const input = /:generateContent$/.test(call.path) ? objectOf(call.body) : null;
  const modalities: unknown = objectOf(input?.generationConfig)?.responseModalities;
  if (input && Array.isArray(modalities) && modalities.includes('IMAGE')) return picture(call, input);
  return chat(call);
};

async function picture(call: FamilyCall, input: Fields): Promise<Reply> {
  const complaint = complaintAbout(input);
  if (complaint !== null) return problem(400, 'INVALID_ARGUMENT', complaint);
  const config = objectOf(objectOf(input.generationConfig)?.imageConfig) ?? {};
  const strange = strangeField(config, 'aspectRatio imageSize personGeneration');
  if (strange !== undefined) return problem(400, 'INVALID_ARGUMENT', unknownName(strange));
  const prompt = objectsOf(input.contents)
    .map(({ parts: contentParts }) => textOfParts(contentParts))
    .join('\n');
  const size = mediaSize({ sizes: [config.imageSize], aspectRatio: config.aspectRatio }, 'image');
  const request = { type: 'image' as const, ...size, seconds: 0, outputs: 1 };
  return makeSynchronously(call, { prompt, request, refusals }, (pictures) => ({
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
        finishReason: pictures.length > 0 ? 'STOP' : 'IMAGE_SAFETY',
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 1_290, totalTokenCount: 1_302 },
    modelVersion: 'sandbox-image',
    responseId: `sbx${hashOf(call.body)}`,
  }));
}

const veoParameters = 'aspectRatio resolution durationSeconds negativePrompt personGeneration sampleCount seed';

function predict(call: FamilyCall, model: string): Reply {
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
  const size = mediaSize({ sizes: [parameters.resolution], aspectRatio: parameters.aspectRatio }, 'video');
  const outputs = countOf(parameters.sampleCount);
  const request = { type: 'video' as const, ...size, seconds: secondsOf(seconds, 8), outputs };
  return acceptProviderJob(call, { prompt, request, refusals }, ({ id }) =>
    json(200, { name: `models/${model}/operations/${id}` }),
  );
}

function poll(call: FamilyCall, model: string, id: string): Reply {
  const found = findProviderJob(call, 'poll', id);
  if (!found) return notFound;
  const name = `models/${model}/operations/${id}`;
  if (found.state === 'queued' || found.state === 'running') return json(200, { name });
  if (found.state === 'failed') {
    const error = { code: 13, message: 'Video generation failed due to an internal server issue.' };
    return json(200, { name, done: true, error });
  }
  const generatedSamples = Array.from({ length: found.providerJob.outputs }, (_, index) => ({
    video: { uri: `${call.baseUrl}/files/${id}-${index}:download?alt=media` },
  }));
  const made =
    found.state === 'done'
      ? { generatedSamples }
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

function chat(call: FamilyCall): Reply {
  const [, model, action] = /^\/models\/([^/:]+):(generateContent|streamGenerateContent)$/.exec(call.path) ?? [];
  if (model === undefined || call.method !== 'POST') return notFound;
  const input = objectOf(call.body);
  const complaint = input ? complaintAbout(input) : 'Invalid JSON payload received.';
  if (!input || complaint !== null) return problem(400, 'INVALID_ARGUMENT', complaint ?? '');
  const { thinkingLevel } = objectOf(objectOf(input.generationConfig)?.thinkingConfig) ?? {};
  if (thinkingLevel === 'MINIMAL' && /^gemini-3\.(1-pro|8-flash)/.test(model)) {
    return problem(400, 'INVALID_ARGUMENT', 'Thinking level MINIMAL is not supported for this model.');
  }
  return answerChat(call, toRequest(input), {
    refusals,
    stream: action === 'streamGenerateContent' ? streamWords(model, `sbx${hashOf(call.body)}`) : undefined,
    answer: ({ text, tools, finish, usage, thoughts }) => ({
      candidates: [
        {
          // An empty answer has a role and nothing else, like the real API.
          content: {
            role: 'model',
            ...((text !== '' || tools.length > 0 || thoughts !== '') && {
              parts: [
                ...(thoughts === '' ? [] : [{ text: thoughts, thought: true }]),
                ...(text === '' ? [] : [{ text }]),
                ...tools.map(toCallPart),
              ],
            }),
          },
          finishReason: finish === 'length' ? 'MAX_TOKENS' : 'STOP',
          index: 0,
        },
      ],
      ...(usage && { usageMetadata: toUsage(usage) }),
      modelVersion: model,
      responseId: `sbx${hashOf(call.body)}`,
    }),
  });
}

/** A signature belongs to its call, so that a changed call is noticed when it comes back. It is base64, which Google's Go client decodes. */
const signatureOf = (name: unknown, args: unknown) => `c2ln${hashOf(`${stringOf(name)} ${JSON.stringify(args)}`)}`;
/** Of calls that are made together, only the first has a signature. */
const toCallPart = ({ name, arguments: args }: ToolCalled, index: number): Fields => ({
  functionCall: { name, args },
  ...(index === 0 && { thoughtSignature: signatureOf(name, args) }),
});
/** Google's own values for a signature that the client lost (https://ai.google.dev/gemini-api/docs/thought-signatures, read on 2026-11-28). */
const unsigned: readonly unknown[] = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'];
function isChanged({ functionCall, thoughtSignature: signature }: Fields): boolean {
  const call = objectOf(functionCall);
  return (
    call !== null &&
    signature !== undefined &&
    !unsigned.includes(signature) &&
    signature !== signatureOf(call.name, call.args)
  );
}

const toUsage = (usage: NonNullable<ChatAnswered['usage']>) => ({
  promptTokenCount: usage.input,
  // Thoughts are counted apart, and zero counts are left out.
  ...(usage.output !== usage.thoughts && { candidatesTokenCount: usage.output - usage.thoughts }),
  ...(usage.thoughts > 0 && { thoughtsTokenCount: usage.thoughts }),
  ...(usage.cached > 0 && { cachedContentTokenCount: usage.cached }),
  totalTokenCount: usage.input + usage.output,
});

/** Events with whole responses, each with the counts so far. */
const streamWords =
  (modelVersion: string, responseId: string) =>
  ({ tools, finish, usage }: ChatAnswered): StreamWords => {
    const sofar = { output: 0, thoughts: 0 };
    const event = (parts: Fields[], more: Fields = {}, counts = usage && { ...usage, ...sofar }) => {
      const candidates = [{ content: { role: 'model', parts }, index: 0, ...more }];
      const usageMetadata = counts && toUsage(counts);
      return `data: ${JSON.stringify({ candidates, ...(usageMetadata && { usageMetadata }), modelVersion, responseId })}\r\n\r\n`;
    };
    return {
      open: '',
      piece(text, isThought) {
        sofar.output += 1;
        if (isThought) sofar.thoughts += 1;
        return event([{ text, ...(isThought && { thought: true }) }]);
      },
      get close() {
        const parts = tools.map(toCallPart);
        return event(
          parts.length > 0 ? parts : [{ text: '' }],
          { finishReason: finish === 'length' ? 'MAX_TOKENS' : 'STOP' },
          usage,
        );
      },
      error: `data: ${JSON.stringify({ error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } })}\r\n\r\n`,
    };
  };

const acceptedFields = 'contents systemInstruction generationConfig tools toolConfig safetySettings cachedContent';

/** The request errors of the real API, so that tests notice a mistake of an adapter. */
function complaintAbout(input: Fields): string | null {
  const strange = strangeField(input, acceptedFields);
  if (strange !== undefined) return unknownName(strange);
  const contents = objectsOf(input.contents);
  if (contents.length === 0) return 'contents is not specified';
  if (contents.some(({ role }) => role !== undefined && role !== 'user' && role !== 'model')) {
    return 'Please use a valid role: user, model.';
  }
  if (contents.some(({ parts }) => objectsOf(parts).length === 0)) return 'contents.parts must not be empty.';
  const complaint = complaintAboutDocuments(heardIn(input));
  if (complaint !== null) return complaint;
  return contents.some(({ parts }) => objectsOf(parts).some(isChanged)) ? 'Thought signature is not valid.' : null;
}

const unknownName = (name: string): string =>
  `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`;

const heardIn = (input: Fields) => objectsOf(input.contents).flatMap(({ parts }) => geminiDocuments(parts));

function toRequest(input: Fields): ChatRequest {
  const config = objectOf(input.generationConfig);
  const calling = objectOf(objectOf(input.toolConfig)?.functionCallingConfig);
  const allowed: unknown = Array.isArray(calling?.allowedFunctionNames) ? calling.allowedFunctionNames[0] : undefined;
  const system = textOfParts(objectOf(input.systemInstruction)?.parts);
  return {
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, text: system }]),
      ...objectsOf(input.contents).flatMap(toMessages),
    ],
    stops: stringsOf(config?.stopSequences),
    documents: { heard: heardIn(input), tokensPerPage: tokensPerPage.gemini },
    signed: objectsOf(input.contents)
      .flatMap(({ parts }) => objectsOf(parts))
      .filter(({ thoughtSignature: signature }) => signature !== undefined && signature !== unsigned).length,
    cameWith: cameWith({
      parts: objectsOf(input.contents)
        .flatMap(({ parts }) => objectsOf(parts))
        .flatMap((part) => [part, ...partsIn(objectOf(part.functionResponse)?.parts)]),
      callId: ({ functionCall }) => objectOf(functionCall)?.id,
      resultId: ({ functionResponse }) => objectOf(functionResponse)?.id,
      isPicture: ({ inlineData, fileData }) => inlineData !== undefined || fileData !== undefined,
    }),
    maxTokens: typeof config?.maxOutputTokens === 'number' ? config.maxOutputTokens : 8_192,
    tools: offeredTools(objectsOf(input.tools).flatMap(({ functionDeclarations }) => objectsOf(functionDeclarations))),
    forced: calling?.mode !== 'ANY' ? null : typeof allowed === 'string' ? { name: allowed } : 'any',
    schema:
      config?.responseMimeType === 'application/json'
        ? (objectOf(config.responseJsonSchema ?? config.responseSchema) ?? {})
        : null,
  };
}

/** Function results arrive inside user content. */
function toMessages({ role, parts }: Fields): ChatRequest['messages'] {
  const answers = objectsOf(objectsOf(parts).map(({ functionResponse }) => functionResponse));
  const results = answers.map(({ response }) => JSON.stringify(response));
  return turnOf(role === 'model' ? 'assistant' : 'user', textOfParts(parts), results);
}

const modelEntry = { name: 'models/sandbox-chat', displayName: 'Sandbox chat', inputTokenLimit: 1_000_000 };

const problem = (code: number, status: string, message: string, detail?: object): Reply =>
  json(code, { error: { code, message, status, ...(detail && { details: [detail] }) } });
const because = (reason: string) => ({
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason,
  domain: 'googleapis.com',
});

const notFound = problem(404, 'NOT_FOUND', 'Requested entity was not found.');
const authRefused = problem(401, 'UNAUTHENTICATED', 'API key not valid.', because('API_KEY_INVALID'));
const refusals = {
  transient: problem(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
  rate_limit: problem(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted.', {
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: '7s',
  }),
  refused: problem(400, 'INVALID_ARGUMENT', 'The prompt was blocked.', because('PROHIBITED_CONTENT')),
  auth: authRefused,
  lost: problem(404, 'NOT_FOUND', 'The model is not found for API version v1beta.'),
  late_fail: problem(500, 'INTERNAL', 'An internal error has occurred.'),
};
