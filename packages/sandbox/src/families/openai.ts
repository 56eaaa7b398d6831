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
  type ChatAnswered,
  type ChatRequest,
  type Fields,
  type ToolCalled,
} from '../chat.ts';
import { complaintAboutDocuments, openaiDocuments, tokensPerPage } from '../documents.ts';
import type { StreamWords } from '../chat-stream.ts';
import {
  countOf,
  fetchFile,
  fetchOutput,
  fieldsOf,
  findProviderJob,
  makeSynchronously,
  secondsOf,
  stringOf,
  acceptProviderJob,
} from '../media-family.ts';
import { cameWith, partsIn } from '../earlier-calls.ts';
import { lackedEffort, refusedParameter, tooManyTools } from './chat-model-limits.ts';
import { answerResponses } from './openai-responses.ts';
import type { FoundProviderJob } from '../provider-jobs.ts';
import { mediaSize } from '../media-size.ts';

/**
 * OpenAI's chat completions, images and videos, as https://platform.openai.com/docs/api-reference/chat, …/images, …/videos
 * and …/guides/error-codes describe them (read on 2026-11-21), and the model list.
 */
export const openai: Family = async (call) => {
  // Gateways that answer in this form give addresses of their own.
  const file = await fetchFile(call);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.path === '/models' && call.method === 'GET') return openaiModels(call);
  if (call.path === '/images/generations' || call.path === '/images/edits') return image(call);
  if (call.path === '/responses' && call.method === 'POST') return answerResponses(call, refusals, problem);
  const video = /^\/videos(?:\/([\w.-]+)(\/content)?)?$/.exec(call.path);
  return video ? videos(call, video[1], video[2] !== undefined) : chat(call);
};

function chat(call: FamilyCall): Reply {
  if (call.path !== '/chat/completions') return problem(404, null, `Invalid URL (${call.method} /v1)`);
  if (call.method !== 'POST') return problem(405, 'method_not_allowed', 'Not allowed');
  const input = objectOf(call.body);
  if (!input) return problem(400, null, 'We could not parse the JSON body of your request.');
  if (typeof input.model !== 'string' || input.model === '') {
    return problem(400, 'missing_required_parameter', "Missing required parameter: 'model'.");
  }
  if (!Array.isArray(input.messages) || input.messages.length === 0) {
    return problem(400, 'missing_required_parameter', "Missing required parameter: 'messages'.");
  }
  const model = input.model;
  const complaint = complaintAboutDocuments(heardIn(input));
  if (complaint !== null) return problem(400, 'invalid_value', complaint);
  const refused = refusedParameter(model, input);
  if (refused !== undefined) {
    return problem(
      400,
      'unsupported_parameter',
      `Unsupported parameter: '${refused}' is not supported with this model.`,
    );
  }
  const effort = lackedEffort(model, input.reasoning_effort);
  if (effort !== null) return problem(400, 'unsupported_value', effort);
  const many = tooManyTools(model, input.tools);
  if (many !== null) return problem(400, 'array_above_max_length', many);
  if (objectsOf(input.messages).some(isPictureResult)) {
    return problem(400, 'invalid_value', 'Image URLs are only allowed for messages with role `user`.');
  }
  return answerChat(call, toRequest(input), {
    refusals,
    stream:
      input.stream === true
        ? streamWords({
            head: {
              id: `chatcmpl-sbx${hashOf(call.body)}`,
              object: 'chat.completion.chunk',
              created: Math.floor(Date.now() / 1_000),
              model,
            },
            withUsage: objectOf(input.stream_options)?.include_usage === true,
          })
        : undefined,
    answer: ({ text, tools, finish, usage, thoughts }) => ({
      id: `chatcmpl-sbx${hashOf(call.body)}`,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1_000),
      model,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: tools.length > 0 ? null : text,
            // DeepSeek and other compatible providers; OpenAI itself keeps the thoughts.
            ...(thoughts !== '' && { reasoning_content: thoughts }),
            refusal: null,
            annotations: [],
            ...(tools.length > 0 && { tool_calls: tools.map(toToolCall) }),
          },
          logprobs: null,
          finish_reason: reasonOf[finish],
        },
      ],
      ...(usage && { usage: toUsage(usage) }),
      service_tier: 'default',
      system_fingerprint: 'fp_sandbox',
    }),
  });
}

const isPictureResult = ({ role, content }: Fields): boolean =>
  role === 'tool' && partsIn(content).some(({ type }) => type === 'image_url');

const reasonOf = { stop: 'stop', empty: 'stop', length: 'length', tool: 'tool_calls' };

const toUsage = (usage: NonNullable<ChatAnswered['usage']>) => ({
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: { cached_tokens: usage.cached, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: usage.thoughts, audio_tokens: 0 },
});

/** Chunks as https://platform.openai.com/docs/api-reference/chat-streaming describes them (read on 2026-11-22). */
const streamWords =
  ({ head, withUsage }: { head: Fields; withUsage: boolean }) =>
  ({ tools, finish, usage }: ChatAnswered): StreamWords => {
    const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
    const chunk = (delta: Fields, finish_reason: string | null = null) =>
      event({
        ...head,
        choices: [{ index: 0, delta, logprobs: null, finish_reason }],
        ...(withUsage && { usage: null }),
      });
    const piece = (index: number, text: string) => chunk({ tool_calls: [{ index, function: { arguments: text } }] });
    const texts = tools.map((tool) => JSON.stringify(tool.arguments));
    const half = (text: string) => Math.ceil(text.length / 2);
    // Compatible providers mix the pieces of calls that they make together.
    const called = [
      ...tools.map(({ id, name }, index) =>
        chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ),
      ...texts.map((text, index) => piece(index, text.slice(0, half(text)))),
      ...texts.map((text, index) => piece(index, text.slice(half(text)))),
    ];
    return {
      open: chunk({ role: 'assistant', content: tools.length > 0 ? null : '', refusal: null }),
      piece: (text, isThought) => chunk(isThought ? { reasoning_content: text } : { content: text }),
      close: [
        ...called,
        chunk({}, reasonOf[finish]),
        ...(withUsage && usage ? [event({ ...head, choices: [], usage: toUsage(usage) })] : []),
        'data: [DONE]\n\n',
      ].join(''),
      error: event({ error: { message: 'The server had an error.', type: 'server_error', param: null, code: null } }),
    };
  };

const toToolCall = ({ id, name, arguments: callArguments }: ToolCalled) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(callArguments) },
});

const heardIn = (input: Fields) => objectsOf(input.messages).flatMap(({ content }) => openaiDocuments(content));

function toRequest(input: Fields): ChatRequest {
  const choice = input.tool_choice;
  const named = objectOf(objectOf(choice)?.function)?.name;
  const format = objectOf(input.response_format);
  const max = input.max_completion_tokens ?? input.max_tokens;
  return {
    messages: objectsOf(input.messages).map(({ role, content }) => ({
      role: roleOf(role),
      text: textOfParts(content),
    })),
    stops: stringsOf(input.stop),
    documents: { heard: heardIn(input), tokensPerPage: tokensPerPage.openai },
    signed: 0,
    cameWith: cameWith({
      parts: objectsOf(input.messages).flatMap((message) => [
        message,
        ...partsIn(message.content),
        ...objectsOf(message.tool_calls),
      ]),
      callId: ({ type, id }) => (type === 'function' ? id : undefined),
      resultId: ({ role, tool_call_id: id }) => (role === 'tool' ? id : undefined),
      isPicture: ({ type }) => type === 'image_url',
    }),
    maxTokens: typeof max === 'number' ? max : 4_096,
    tools: offeredTools(objectsOf(input.tools).map((tool) => objectOf(tool.function))),
    forced: typeof named === 'string' ? { name: named } : choice === 'required' ? 'any' : null,
    schema:
      format?.type === 'json_schema'
        ? (objectOf(objectOf(format.json_schema)?.schema) ?? {})
        : format?.type === 'json_object'
          ? {}
          : null,
  };
}

const imageFields =
  'model prompt n size quality background moderation output_format output_compression response_format style user ' +
  'stream partial_images';
const editFields = `${imageFields} input_fidelity image[] mask`;

async function image(call: FamilyCall): Promise<Reply> {
  const isEdit = call.path === '/images/edits';
  const body = fieldsOf(call);
  const prompt = stringOf(body?.fields.prompt);
  const strange = strangeField(body?.fields ?? {}, isEdit ? editFields : imageFields);
  if (strange !== undefined) return unknownParameter(strange);
  if (!body || prompt === '') return missing('prompt');
  if (isEdit && !body.files.includes('image[]')) return missing('image');
  const size = mediaSize({ sizes: [body.fields.size], aspectRatio: undefined }, 'image');
  const request = { type: 'image' as const, ...size, seconds: 0, outputs: countOf(Number(body.fields.n ?? 1)) };
  return makeSynchronously(call, { prompt, request, refusals: { ...refusals, no_output: moderated } }, (pictures) => ({
    created: Math.floor(Date.now() / 1_000),
    background: 'opaque',
    data: pictures.map((picture) => ({ b64_json: picture.toString('base64') })),
    output_format: 'png',
    quality: 'medium',
    size: `${size.width}x${size.height}`,
    usage: { input_tokens: 13, output_tokens: 1_056, total_tokens: 1_069 },
  }));
}

function videos(call: FamilyCall, id: string | undefined, isContent: boolean): Reply | Promise<Reply> {
  if (id === undefined) return call.method === 'POST' ? submitVideo(call) : notAllowed;
  if (call.method !== 'GET') return notAllowed;
  if (isContent) return fetchOutput(call, id, 0);
  const found = findProviderJob(call, 'poll', id);
  return found ? json(200, toVideo(found)) : problem(404, 'video_not_found', `Video with id '${id}' not found.`);
}

function submitVideo(call: FamilyCall): Reply {
  const body = fieldsOf(call);
  const prompt = stringOf(body?.fields.prompt);
  if (!body || prompt === '') return missing('prompt');
  const strange = strangeField(body.fields, 'model prompt seconds size input_reference');
  if (strange !== undefined) return unknownParameter(strange);
  const { seconds, size } = body.fields;
  if (seconds !== undefined && seconds !== '4' && seconds !== '8' && seconds !== '12') {
    return problem(400, 'invalid_value', "Invalid value. Supported values are: '4', '8', and '12'.");
  }
  const dimensions = mediaSize({ sizes: [size ?? '720x1280'], aspectRatio: undefined }, 'video');
  const request = { type: 'video' as const, ...dimensions, seconds: secondsOf(seconds, 4), outputs: 1 };
  return acceptProviderJob(call, { prompt, request, refusals }, (found) => json(200, { ...toVideo(found), prompt }));
}

const wordOf: Record<FoundProviderJob['state'], string> = {
  queued: 'queued',
  running: 'in_progress',
  canceled: 'queued',
  done: 'completed',
  withheld: 'failed',
  failed: 'failed',
};
const errors: Partial<Record<FoundProviderJob['state'], { code: string; message: string }>> = {
  // This API cannot say "done, without output", so a withheld result is a moderation error.
  withheld: { code: 'moderation_blocked', message: 'Your request was blocked by our moderation system.' },
  failed: { code: 'video_generation_failed', message: 'The generation failed.' },
};

function toVideo({ id, providerJob, state }: FoundProviderJob): Fields {
  return {
    id,
    object: 'video',
    model: 'sandbox-video',
    status: wordOf[state],
    progress: state === 'queued' ? 0 : state === 'running' ? 50 : 100,
    created_at: Math.floor(providerJob.createdAt / 1_000),
    completed_at:
      state === 'done' || state === 'withheld'
        ? Math.floor((providerJob.createdAt + providerJob.latencyMs) / 1_000)
        : null,
    expires_at: null,
    seconds: String(providerJob.seconds),
    size: `${providerJob.width}x${providerJob.height}`,
    remixed_from_video_id: null,
    error: errors[state] ?? null,
  };
}

const roleOf = (role: unknown): ChatRequest['messages'][number]['role'] =>
  role === 'assistant' || role === 'tool' || role === 'user' ? role : 'system';

/** The whole list, as OpenAI returns it: it has no pages. */
export async function openaiModels(call: FamilyCall): Promise<Reply> {
  const { names } = await listPage(call, { limit: null, after: null });
  const about = { object: 'model', created: 1_700_000_000, owned_by: 'sandbox' };
  return json(200, { object: 'list', data: names.map((id) => ({ id, ...about })) });
}

const problem = (status: number, code: string | null, message: string): Reply => {
  const type = status >= 500 ? 'server_error' : status === 429 ? 'requests' : 'invalid_request_error';
  return json(status, { error: { message, type, param: null, code } });
};

const missing = (name: string): Reply =>
  problem(400, 'missing_required_parameter', `Missing required parameter: '${name}'.`);
const unknownParameter = (name: string): Reply => problem(400, 'unknown_parameter', `Unknown parameter: '${name}'.`);
const notAllowed = problem(405, 'method_not_allowed', 'Not allowed');

const moderated = problem(400, 'moderation_blocked', 'Your request was blocked by our moderation system.');
const authRefused = problem(401, 'invalid_api_key', 'Incorrect API key provided.');
const refusals = {
  transient: problem(503, 'service_unavailable', 'The engine is currently overloaded, please try again later'),
  rate_limit: problem(429, 'rate_limit_exceeded', 'Rate limit reached'),
  refused: problem(400, 'content_policy_violation', 'Your request was rejected as a result of our safety system.'),
  // OpenRouter's form: https://openrouter.ai/docs/api/reference/errors-and-debugging, read on 2026-11-22.
  flagged: json(403, {
    error: {
      code: 403,
      message: 'Input was flagged by moderation.',
      metadata: {
        reasons: ['violence'],
        flagged_input: 'the first words…',
        provider_name: 'Sandbox',
        model_slug: 'sandbox-chat',
      },
    },
  }),
  auth: authRefused,
  lost: problem(404, 'model_not_found', 'The model does not exist or you do not have access to it.'),
  late_fail: problem(500, 'internal_error', 'The server had an error while processing your request.'),
};
