import { z } from 'zod';
import { anyJson, chosenBy, listOf } from '../validate.ts';
import type { FieldRules } from '../unknown-fields.ts';
import { FunctionName, ImageUrl, itemsMax, JsonRecord, Temperature, toolsMax, V1MaxTokens } from './chat-fields.ts';

/**
 * The fields of a Responses request (https://platform.openai.com/docs/api-reference/responses/create and the types of `openai` 7.57.0, read
 * 2026-11-22) that the gateway reads itself. The parts of `input` are strict, so that none is dropped.
 */
const InputText = z.strictObject({ type: z.literal('input_text'), text: z.string() });
const InputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: ImageUrl,
  detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
  file_id: z.null().optional(),
});
const OutputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  // What the SDKs send back from an answer of ours.
  annotations: z.array(z.never()).nullish(),
  logprobs: z.array(z.never()).nullish(),
});
const Refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });

const inputPart = z.discriminatedUnion('type', [InputText, InputImage]);
const saidPart = z.discriminatedUnion('type', [OutputText, Refusal, InputText]);
export type InputPart = z.infer<typeof inputPart> | z.infer<typeof saidPart>;
const contentOf = <Part extends z.ZodType>(part: Part) => z.union([z.string(), listOf(part, { max: itemsMax })]);

const id = z.string().max(512).nullish();
const status = z.enum(['in_progress', 'completed', 'incomplete']).nullish();
const callId = z.string().min(1).max(512);
const caller = z.strictObject({ type: z.literal('direct') }).nullish();
/** The part of a turn that OpenAI's newest models write a message in. */
const phase = z.enum(['commentary', 'final_answer']).nullish();
const message = { type: z.literal('message').default('message'), id, status, phase };

const InputMessage = z.discriminatedUnion('role', [
  z.strictObject({ ...message, role: z.literal('user'), content: contentOf(inputPart) }),
  z.strictObject({ ...message, role: z.literal('assistant'), content: contentOf(saidPart) }),
  z.strictObject({ ...message, role: z.literal('system'), content: contentOf(InputText) }),
  z.strictObject({ ...message, role: z.literal('developer'), content: contentOf(InputText) }),
]);
const FunctionCall = z.strictObject({
  type: z.literal('function_call'),
  ...{ id, status, caller },
  call_id: callId,
  name: FunctionName,
  arguments: z.string(),
});
const FunctionCallOutput = z.strictObject({
  type: z.literal('function_call_output'),
  ...{ id, status, caller },
  call_id: callId,
  output: contentOf(inputPart),
});
const Reasoning = z.strictObject({
  type: z.literal('reasoning'),
  ...{ id, status },
  summary: listOf(z.strictObject({ type: z.literal('summary_text'), text: z.string() }), { max: itemsMax }),
  content: listOf(z.strictObject({ type: z.literal('reasoning_text'), text: z.string() }), { max: itemsMax }).nullish(),
  encrypted_content: z.string().nullish(),
});
const Typed = z.discriminatedUnion('type', [FunctionCall, FunctionCallOutput, Reasoning]);
export type InputItem = z.infer<typeof InputMessage> | z.infer<typeof Typed>;

/** An item without a type is a message. */
const Item = chosenBy((value): z.ZodType<InputItem> => {
  const isMessage = typeof value === 'object' && value !== null && (!('type' in value) || value.type === 'message');
  return isMessage ? InputMessage : Typed;
});

const Tool = z.strictObject({
  type: z.literal('function'),
  name: FunctionName,
  description: z.string().nullish(),
  parameters: JsonRecord.nullish(),
  strict: z.boolean().nullish(),
  allowed_callers: z.tuple([z.literal('direct')]).nullish(),
  async: z.literal(false).nullish(),
  defer_loading: z.literal(false).nullish(),
  output_schema: z.null().optional(),
});
export type ResponseTool = z.infer<typeof Tool>;

const ToolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.strictObject({ type: z.literal('function'), name: FunctionName }),
]);
const Format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"'),
    description: z.string().nullish(),
    schema: JsonRecord,
    strict: z.boolean().nullish(),
  }),
]);
const summary = z.enum(['auto', 'concise', 'detailed']).nullish();

/** The fields that are read. Every other one is a further field or is refused. */
export const known = {
  model: z.string().min(1).max(200),
  input: z.union([z.string(), listOf(Item, { min: 1, max: itemsMax })]),
  instructions: z.string().nullish(),
  max_output_tokens: V1MaxTokens.nullish(),
  temperature: Temperature.nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  tools: z.array(Tool).max(toolsMax).nullish(),
  tool_choice: ToolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: z.strictObject({ format: Format.nullish(), verbosity: z.enum(['low', 'medium', 'high']).nullish() }).nullish(),
  reasoning: z
    .strictObject({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
      summary,
      generate_summary: summary,
      // OpenAI alone knows which earlier thoughts are used.
      context: z.string().nullish(),
      mode: z.literal('standard').nullish(),
    })
    .nullish(),
  include: z.array(z.literal('reasoning.encrypted_content')).max(20).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().nullish() }).nullish(),
  user: z.string().max(512).nullish(),
  safety_identifier: z.string().max(512).nullish(),
};
/** What must not be ignored in silence inside of other fields. Those of the request itself are decided by the reader. */
export const responsesRules: FieldRules = { refused: {} };

export const ResponsesBody = z.object(known).catchall(anyJson);
