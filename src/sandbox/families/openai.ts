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
import {
  countOf,
  fetchOutput,
  fieldsOf,
  makeSynchronously,
  recordMedia,
  secondsOf,
  stringOf,
  takeJob,
} from '../media-family.ts';
import { mediaSize } from '../media-size.ts';

/**
 * OpenAI's chat completions, images and videos, as https://platform.openai.com/docs/api-reference/chat, …/images, …/videos
 * and …/guides/error-codes describe them (read on 2026-11-21), and the model list.
 */
export const openai: Family = async (parts, call) => {
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.path === '/models' && call.method === 'GET') return json(200, { object: 'list', data: [modelEntry] });
  if (call.path === '/images/generations' || call.path === '/images/edits') return image(parts, call);
  const video = /^\/videos(?:\/([\w.-]+)(\/content)?)?$/.exec(call.path);
  return video ? videos(parts, call, video[1], video[2] !== undefined) : chat(parts, call);
};

function chat(parts: FamilyParts, call: FamilyCall): Reply {
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
  return answerChat(parts, call, toAsked(input), {
    family: 'openai',
    refusals,
    answer: ({ text, tool, finish, usage }) => ({
      id: `chatcmpl-sbx${hashOf(call.body)}`,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1_000),
      model,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: tool ? null : text,
            refusal: null,
            annotations: [],
            ...(tool && {
              tool_calls: [
                {
                  id: tool.id,
                  type: 'function',
                  function: { name: tool.name, arguments: JSON.stringify(tool.arguments) },
                },
              ],
            }),
          },
          logprobs: null,
          finish_reason: { stop: 'stop', empty: 'stop', length: 'length', tool: 'tool_calls' }[finish],
        },
      ],
      ...(usage && {
        usage: {
          prompt_tokens: usage.input,
          completion_tokens: usage.output,
          total_tokens: usage.input + usage.output,
          prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
        },
      }),
      service_tier: 'default',
      system_fingerprint: 'fp_sandbox',
    }),
  });
}

function toAsked(input: Fields): ChatAsked {
  const choice = input.tool_choice;
  const named = objectOf(objectOf(choice)?.function)?.name;
  const format = objectOf(input.response_format);
  const max = input.max_completion_tokens ?? input.max_tokens;
  return {
    messages: objectsOf(input.messages).map(({ role, content }) => ({
      role: roleOf(role),
      text: textOfParts(content),
    })),
    maxTokens: typeof max === 'number' ? max : 4_096,
    tools: objectsOf(input.tools).flatMap((tool) => {
      const name = objectOf(tool.function)?.name;
      return typeof name === 'string' ? [name] : [];
    }),
    forced: typeof named === 'string' ? { name: named } : choice === 'required' ? 'any' : null,
    schema:
      format?.type === 'json_schema'
        ? (objectOf(objectOf(format.json_schema)?.schema) ?? {})
        : format?.type === 'json_object'
          ? {}
          : null,
  };
}

const imageFields = [
  ...['model', 'prompt', 'n', 'size', 'quality', 'background', 'moderation', 'output_format', 'output_compression'],
  ...['response_format', 'style', 'user', 'stream', 'partial_images'],
];
const editFields = ['input_fidelity', 'image[]', 'mask'];

async function image(parts: FamilyParts, call: FamilyCall): Promise<Reply> {
  const isEdit = call.path === '/images/edits';
  const body = fieldsOf(call);
  const prompt = stringOf(body?.fields.prompt);
  const strange = strangeField(body?.fields ?? {}, [...imageFields, ...(isEdit ? editFields : [])]);
  const complaint =
    strange !== undefined
      ? unknownParameter(strange)
      : !body || prompt === ''
        ? missing('prompt')
        : isEdit && !body.files.includes('image[]')
          ? missing('image')
          : null;
  if (complaint || !body) return complaint ?? missing('prompt');
  const size = mediaSize({ sizes: [body.fields.size], aspectRatio: undefined }, 'image');
  const asked = { type: 'image' as const, ...size, seconds: 0, outputs: countOf(Number(body.fields.n ?? 1)) };
  return makeSynchronously(parts, call, { family: 'openai', prompt, asked, refusals }, (pictures) => ({
    created: Math.floor(Date.now() / 1_000),
    background: 'opaque',
    data: pictures.map((picture) => ({ b64_json: picture.toString('base64') })),
    output_format: 'png',
    quality: 'medium',
    size: `${size.width}x${size.height}`,
    usage: { input_tokens: 13, output_tokens: 1_056, total_tokens: 1_069 },
  }));
}

function videos(
  parts: FamilyParts,
  call: FamilyCall,
  id: string | undefined,
  isContent: boolean,
): Reply | Promise<Reply> {
  if (id === undefined) return call.method === 'POST' ? submitVideo(parts, call) : notAllowed;
  if (call.method !== 'GET') return notAllowed;
  if (isContent) return fetchOutput(parts, call, 'openai', id, 0);
  recordMedia(parts, call, 'poll', { family: 'openai', prompt: parts.jobs.promptOf(id) });
  const found = parts.jobs.find(id);
  if (!found || found.state === 'missing') return problem(404, 'video_not_found', `Video with id '${id}' not found.`);
  return json(200, toVideo(parts, id));
}

function submitVideo(parts: FamilyParts, call: FamilyCall): Reply {
  const body = fieldsOf(call);
  const prompt = stringOf(body?.fields.prompt);
  if (!body || prompt === '') return missing('prompt');
  const strange = strangeField(body.fields, ['model', 'prompt', 'seconds', 'size', 'input_reference']);
  if (strange !== undefined) return unknownParameter(strange);
  const { seconds, size } = body.fields;
  if (seconds !== undefined && seconds !== '4' && seconds !== '8' && seconds !== '12') {
    return problem(400, 'invalid_value', "Invalid value. Supported values are: '4', '8', and '12'.");
  }
  const taken = takeJob(parts, call, {
    family: 'openai',
    prompt,
    asked: {
      type: 'video',
      ...mediaSize({ sizes: [size ?? '720x1280'], aspectRatio: undefined }, 'video'),
      seconds: secondsOf(seconds, 4),
      outputs: 1,
    },
    refusals: refusalsOfVideo,
  });
  return 'reply' in taken ? taken.reply : json(200, { ...toVideo(parts, taken.id), prompt });
}

function toVideo(parts: FamilyParts, id: string): Fields {
  const found = parts.jobs.find(id);
  if (!found) return {};
  const { job, state } = found;
  // This API cannot say "done, without output", so a withheld result is a moderation error.
  const isHeldBack = state === 'done' && job.fate === 'no_output';
  const error = isHeldBack
    ? { code: 'moderation_blocked', message: 'Your request was blocked by our moderation system.' }
    : { code: 'video_generation_failed', message: 'The generation failed.' };
  const isFailed = state === 'failed' || isHeldBack;
  const status = isFailed ? 'failed' : { queued: 'queued', running: 'in_progress', done: 'completed' }[String(state)];
  return {
    id,
    object: 'video',
    model: 'sandbox-video',
    status: status ?? 'queued',
    progress: state === 'queued' ? 0 : state === 'running' ? 50 : 100,
    created_at: Math.floor(job.createdAt / 1_000),
    completed_at: state === 'done' ? Math.floor((job.createdAt + job.latencyMs) / 1_000) : null,
    expires_at: null,
    seconds: String(job.seconds),
    size: `${job.width}x${job.height}`,
    remixed_from_video_id: null,
    error: isFailed ? error : null,
  };
}

const roleOf = (role: unknown): ChatAsked['messages'][number]['role'] =>
  role === 'assistant' || role === 'tool' || role === 'user' ? role : 'system';

const modelEntry = { id: 'sandbox-chat', object: 'model', created: 1_700_000_000, owned_by: 'sandbox' };

const problem = (status: number, code: string | null, message: string, headers: Record<string, string> = {}): Reply => {
  const type = status >= 500 ? 'server_error' : status === 429 ? 'requests' : 'invalid_request_error';
  return json(status, { error: { message, type, param: null, code } }, headers);
};

const missing = (name: string): Reply =>
  problem(400, 'missing_required_parameter', `Missing required parameter: '${name}'.`);
const unknownParameter = (name: string): Reply => problem(400, 'unknown_parameter', `Unknown parameter: '${name}'.`);
const notAllowed = problem(405, 'method_not_allowed', 'Not allowed');

const authRefused = problem(401, 'invalid_api_key', 'Incorrect API key provided.');
const refusals = {
  transient: problem(503, 'service_unavailable', 'The engine is currently overloaded, please try again later'),
  rate_limit: problem(429, 'rate_limit_exceeded', 'Rate limit reached', { 'retry-after': '7' }),
  refused: problem(400, 'content_policy_violation', 'Your request was rejected as a result of our safety system.'),
  auth: authRefused,
  lost: problem(404, 'model_not_found', 'The model does not exist or you do not have access to it.'),
  late_fail: problem(500, 'internal_error', 'The server had an error while processing your request.'),
};
/** A video that is scripted to be lost or to fail late is accepted first. */
const { lost: _lost, late_fail: _lateFail, ...refusalsOfVideo } = refusals;
