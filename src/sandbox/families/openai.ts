import { json, type Family, type Reply } from '../family.ts';
import { answerChat, hashOf, objectOf, objectsOf, textOfParts, type ChatAsked, type Fields } from '../chat.ts';

/**
 * OpenAI's chat completions, as https://platform.openai.com/docs/api-reference/chat and …/guides/error-codes describe them
 * (read on 2026-11-21): completions and the model list.
 */
export const openai: Family = (parts, call) => Promise.resolve(answer(parts, call));

function answer(parts: Parameters<Family>[0], call: Parameters<Family>[1]): Reply {
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.path === '/models' && call.method === 'GET') return json(200, { object: 'list', data: [modelEntry] });
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

const roleOf = (role: unknown): ChatAsked['messages'][number]['role'] =>
  role === 'assistant' || role === 'tool' || role === 'user' ? role : 'system';

const modelEntry = { id: 'sandbox-chat', object: 'model', created: 1_700_000_000, owned_by: 'sandbox' };

const problem = (status: number, code: string | null, message: string, headers: Record<string, string> = {}): Reply => {
  const type = status >= 500 ? 'server_error' : status === 429 ? 'requests' : 'invalid_request_error';
  return json(status, { error: { message, type, param: null, code } }, headers);
};

const authRefused = problem(401, 'invalid_api_key', 'Incorrect API key provided.');
const refusals = {
  transient: problem(503, 'service_unavailable', 'The engine is currently overloaded, please try again later'),
  rate_limit: problem(429, 'rate_limit_exceeded', 'Rate limit reached', { 'retry-after': '7' }),
  refused: problem(400, 'content_policy_violation', 'Your request was rejected as a result of our safety system.'),
  auth: authRefused,
  lost: problem(404, 'model_not_found', 'The model does not exist or you do not have access to it.'),
  late_fail: problem(500, 'internal_error', 'The server had an error while processing your request.'),
};
