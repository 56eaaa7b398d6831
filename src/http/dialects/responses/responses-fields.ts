import { z } from 'zod';
import { anyJson, chosenBy, arrayOf } from '../../request/validate.ts';
import type { FieldRules } from '../../request/unknown-fields.ts';
import {
  FunctionName,
  ImageUrl,
  v1ItemsMax,
  JsonRecord,
  Temperature,
  v1ToolsMax,
  V1MaxTokens,
  V1TopP,
  V1User,
} from '../chat-fields.ts';
import { V1ImageUrl } from '../picture-url.ts';
import { ResponsesTool, ResponsesToolChoice } from './responses-tools.ts';

/**
 * The fields of a Responses request (https://platform.openai.com/docs/api-reference/responses/create and the types of `openai` 7.57.0, read
 * 2026-11-22) that the gateway reads itself. The parts of `input` are strict, so that none is dropped.
 */
const InputText = z.strictObject({ type: z.literal('input_text'), text: z.string() });
const InputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: V1ImageUrl,
  detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
  file_id: z.null('files are not stored here. Send the picture in image_url').optional(),
});
/** A file (https://developers.openai.com/api/docs/guides/file-inputs, read 2026-11-26). */
const InputFile = z.strictObject({
  type: z.literal('input_file'),
  file_data: z.string().nullish(),
  file_url: ImageUrl.nullish(),
  // Read so that its refusal can say what to send.
  file_id: z.string().max(512).nullish(),
  filename: z.string().max(512).nullish(),
  detail: z.enum(['auto', 'low', 'high']).nullish(),
});
const OutputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  // What the SDKs send back from an earlier answer. The model needs the text alone.
  annotations: z.array(anyJson).nullish(),
  logprobs: z.array(anyJson).nullish(),
});
const Refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });

const inputPart = z.discriminatedUnion('type', [InputText, InputImage, InputFile]);
const assistantPart = z.discriminatedUnion('type', [OutputText, Refusal, InputText]);
export type InputPart = z.infer<typeof inputPart> | z.infer<typeof assistantPart>;
const contentOf = <Part extends z.ZodType>(part: Part) => z.union([z.string(), arrayOf(part, { max: v1ItemsMax })]);

const id = z.string().max(512).nullish();
const status = z.enum(['in_progress', 'completed', 'incomplete']).nullish();
const caller = z.strictObject({ type: z.literal('direct') }).nullish();
/** The part of a turn that OpenAI's newest models write a message in. */
const phase = z.enum(['commentary', 'final_answer']).nullish();
const message = { type: z.literal('message').default('message'), id, status, phase };

// symfony/ai sends null where an answer had calls alone.
const answerContent = z.union([contentOf(assistantPart), z.null().transform(() => [])]);
const InputMessage = z.discriminatedUnion('role', [
  z.strictObject({ ...message, role: z.literal('user'), content: contentOf(inputPart) }),
  z.strictObject({ ...message, role: z.literal('assistant'), content: answerContent }),
  z.strictObject({ ...message, role: z.literal('system'), content: contentOf(InputText) }),
  z.strictObject({ ...message, role: z.literal('developer'), content: contentOf(InputText) }),
]);
const ofCall = { id, status, caller, call_id: z.string().min(1).max(512) };
const call = { ...ofCall, name: FunctionName, namespace: FunctionName.nullish() };
const FunctionCall = z.strictObject({ type: z.literal('function_call'), ...call, arguments: z.string() });
const CustomToolCall = z.strictObject({ type: z.literal('custom_tool_call'), ...call, input: z.string() });
const result = { ...ofCall, output: contentOf(inputPart) };
const FunctionCallOutput = z.strictObject({ type: z.literal('function_call_output'), ...result });
const CustomToolCallOutput = z.strictObject({ type: z.literal('custom_tool_call_output'), ...result });
const Reasoning = z.strictObject({
  type: z.literal('reasoning'),
  id,
  status,
  summary: arrayOf(z.strictObject({ type: z.literal('summary_text'), text: z.string() }), { max: v1ItemsMax }).default(
    [],
  ),
  content: arrayOf(z.strictObject({ type: z.literal('reasoning_text'), text: z.string() }), {
    max: v1ItemsMax,
  }).nullish(),
  encrypted_content: z.string().nullish(),
});
/** Tools that become available within the conversation, as Codex sends them. */
const AdditionalTools = z.strictObject({
  type: z.literal('additional_tools'),
  id,
  role: z.string().max(64).nullish(),
  tools: z.array(ResponsesTool).max(v1ToolsMax),
});
const ItemReference = z.strictObject({ type: z.literal('item_reference'), id: z.string().max(512) });
const Typed = z.discriminatedUnion('type', [
  FunctionCall,
  FunctionCallOutput,
  CustomToolCall,
  CustomToolCallOutput,
  Reasoning,
  AdditionalTools,
  ItemReference,
]);
/** A call or a result of a tool that a provider runs. */
const ProviderItem = z
  .object({ type: z.string().max(200) })
  .catchall(anyJson)
  .transform(({ type }) => ({ type: 'provider' as const, kind: type }));
/** With these items Codex asks OpenAI to compact the conversation, and sends back what OpenAI compacted. */
const CompactionItem = ProviderItem.refine(() => false, {
  path: ['type'],
  message:
    'is not supported, because conversations are not compacted here. Codex compacts them itself if its provider has another name than "OpenAI"',
});
export type InputItem = z.infer<typeof InputMessage> | z.infer<typeof Typed> | z.infer<typeof ProviderItem>;

/** The types of such items: `web_search_call`, `local_shell_call_output`, `mcp_list_tools`, `tool_search_output`, … */
const providerItemType = /_(call|call_output|output|list_tools|approval_request|approval_response)$/;
const compactionTypes = ['compaction', 'compaction_trigger', 'compaction_summary', 'context_compaction'];
const ownItemTypes = ['function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output'];

/** An item without a type is a message. */
const Item = chosenBy((value): z.ZodType<InputItem> => {
  const type = typeof value === 'object' && value !== null && ('type' in value ? value.type : 'message');
  if (type === 'message') return InputMessage;
  if (compactionTypes.includes(String(type))) return CompactionItem;
  const isProvider = typeof type === 'string' && providerItemType.test(type) && !ownItemTypes.includes(type);
  return isProvider ? ProviderItem : Typed;
});

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
export const responsesFields = {
  model: z.string().min(1).max(200),
  input: z.union([z.string(), arrayOf(Item, { min: 1, max: v1ItemsMax })]),
  instructions: z.string().nullish(),
  max_output_tokens: V1MaxTokens.nullish(),
  temperature: Temperature.nullish(),
  top_p: V1TopP,
  tools: z.array(ResponsesTool).max(v1ToolsMax).nullish(),
  tool_choice: ResponsesToolChoice.nullish(),
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
  // The reader leaves out what is asked of tools that the provider runs. What is left asks for another answer.
  include: z
    .array(z.string().refine((one) => one === 'reasoning.encrypted_content', 'is not supported here'))
    .max(20)
    .nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().nullish() }).nullish(),
  user: V1User.nullish(),
  safety_identifier: V1User.nullish(),
};
/** What must not be ignored in silence inside of other fields. Those of the request itself are decided by the reader. */
export const responsesRules: FieldRules = { refused: {} };

export const ResponsesBody = z.object(responsesFields).catchall(anyJson);
