import { z } from 'zod';
import { isDataUri } from '../../../domain/chat/chat.ts';
import { anyJson, chosenBy, arrayOf, typeIn } from '../../request/validate.ts';
import type { FieldRules } from '../../request/unknown-fields.ts';
import { Base64 } from '../base64.ts';
import {
  FunctionName,
  inlineMax,
  v1ItemsMax,
  JsonRecord,
  v1ToolsMax,
  V1MaxTokens,
  v1Sampling,
} from '../chat-fields.ts';
import { optionalFields } from '../optional-fields.ts';
import { clientTool } from './client-tools.ts';

/**
 * The fields of a Messages request (https://platform.claude.com/docs/en/api/messages and the types of `@anthropic-ai/sdk` 1.12.0, read
 * 2026-11-22) that can be carried to every family or refused by name. Objects are strict, so that no field is dropped.
 */
const CacheControlSchema = z.strictObject({
  type: z.literal('ephemeral'),
  ttl: z.enum(['5m', '1h']).optional(),
  scope: z.string().max(64).optional(),
});
const cache_control = CacheControlSchema.nullish();
/** What the SDKs send back from an answer of ours, and what is without effect here. */
// The sources of an earlier answer, too. The model needs the text alone.
const unread = z.union([z.null(), z.array(anyJson), z.strictObject({ enabled: z.boolean().nullish() })]).optional();

const Text = z.strictObject({ type: z.literal('text'), text: z.string(), cache_control, citations: unread });
export type TextBlock = z.infer<typeof Text>;

const AnthropicImageUrl = z
  .string()
  .max(inlineMax)
  .refine((url) => !isDataUri(url) && URL.canParse(url), 'must be an https URL');
const StoredFile = z.strictObject({ type: z.literal('file'), file_id: z.string() });
const Image = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: Base64,
    }),
    z.strictObject({ type: z.literal('url'), url: AnthropicImageUrl }),
    // Read so that its refusal can say what to send.
    StoredFile,
  ]),
  cache_control,
});
export type ImageBlock = z.infer<typeof Image>;

/**
 * A document (https://platform.claude.com/docs/en/build-with-claude/pdf-support, read 2026-11-26). `citations` is not read, because answers have none
 * here.
 */
const Document = z.strictObject({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: z.string().min(1) }),
    z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
    z.strictObject({ type: z.literal('url'), url: AnthropicImageUrl }),
    z.strictObject({
      type: z.literal('content'),
      content: z.union([z.string(), arrayOf(z.discriminatedUnion('type', [Text, Image]), { max: v1ItemsMax })]),
    }),
    StoredFile,
  ]),
  title: z.string().max(500).nullish(),
  context: z.string().nullish(),
  cache_control,
});
export type DocumentBlock = z.infer<typeof Document>;

/** A result of the client's own search (https://platform.claude.com/docs/en/build-with-claude/search-results, read 2026-11-26). */
const SearchResult = z.strictObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: arrayOf(Text, { max: v1ItemsMax }),
  citations: unread,
  cache_control,
});
export type SearchResultBlock = z.infer<typeof SearchResult>;

/** A tool with `defer_loading` that a search of the client found. */
const ToolReference = z.strictObject({
  type: z.literal('tool_reference'),
  tool_name: FunctionName,
  cache_control,
});
export type ToolReferenceBlock = z.infer<typeof ToolReference>;

/** Calls and results of tools that the provider ran in an earlier answer. */
const providerBlocks = [
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'mcp_tool_use',
  'mcp_tool_result',
  'container_upload',
] as const;
const ProviderBlock = z.object({ type: z.enum(providerBlocks) }).catchall(anyJson);
export type ProviderBlock = z.infer<typeof ProviderBlock>;

const contentOf = <Block extends z.ZodType>(block: Block) => z.union([z.string(), arrayOf(block, { max: v1ItemsMax })]);
const callId = z.string().min(1).max(512);

const ToolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: callId,
  content: contentOf(z.discriminatedUnion('type', [Text, Image, SearchResult, ToolReference, Document])).nullish(),
  is_error: z.boolean().nullish(),
  cache_control,
  toolset_name: z.null().optional(),
});
const ToolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: callId,
  name: FunctionName,
  input: JsonRecord,
  cache_control,
  caller: z.strictObject({ type: z.literal('direct') }).nullish(),
  toolset_name: z.null().optional(),
});
const Thought = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().nullish() });
const RedactedThinking = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string().min(1) });

const AssistantBlock = z.discriminatedUnion('type', [Text, ToolUse, Thought, RedactedThinking, ProviderBlock]);
export type AssistantBlock = z.infer<typeof AssistantBlock>;
const UserBlock = z.discriminatedUnion('type', [Text, Image, ToolResult, SearchResult, ProviderBlock, Document]);
export type UserBlock = z.infer<typeof UserBlock>;

/** What Anthropic alone knows of a message: the effort of one turn, and how long instructions between the turns count. */
const turn = { output_config: anyJson.optional() };
const systemTurn = { ...turn, clear_at: z.string().max(64).nullish() };
/** Changes of the tools within the conversation. All tools are offered from its beginning. */
const ToolChange = z.object({ type: z.enum(['tool_addition', 'tool_removal']) }).catchall(anyJson);
const MessageIn = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), content: contentOf(UserBlock), ...turn }),
  z.strictObject({ role: z.literal('assistant'), content: contentOf(AssistantBlock), ...turn }),
  z.strictObject({
    role: z.literal('system'),
    content: z
      .union([z.string(), arrayOf(z.discriminatedUnion('type', [Text, ToolChange]), { max: v1ItemsMax }), z.null()])
      .optional(),
    ...systemTurn,
  }),
]);
export type MessageIn = z.infer<typeof MessageIn>;
export type SystemMessage = Extract<MessageIn, { role: 'system' }>;

/** What every tool may have that the client runs. */
const toolFields = {
  name: FunctionName,
  strict: z.boolean().nullish(),
  cache_control,
  allowed_callers: z.array(z.literal('direct')).length(1).nullish(),
  // Anthropic alone knows these two.
  defer_loading: z.boolean().nullish(),
  input_examples: z.array(anyJson).max(100).nullish(),
  // Only the pace of a stream depends on it.
  eager_input_streaming: z.boolean().nullish(),
};
const AnthropicCustomTool = z.strictObject({
  ...toolFields,
  type: z.literal('custom').nullish(),
  description: z.string().nullish(),
  input_schema: JsonRecord,
});
export type AnthropicCustomTool = z.infer<typeof AnthropicCustomTool>;
/** A tool of Anthropic's own that the client runs, such as `bash_20250124`. */
const AnthropicClientTool = z
  .strictObject({ ...toolFields, type: z.string().max(200), max_characters: z.int().min(1).nullish() })
  .transform(({ type: kind, ...tool }) => ({ ...tool, type: 'client' as const, kind }));
export type AnthropicClientTool = z.output<typeof AnthropicClientTool>;
/** A tool of Anthropic's own that Anthropic runs, such as `web_search_20250305`. It is not offered. */
const ProviderTool = z
  .object({ type: z.string().min(1).max(200), name: z.string().max(200).nullish() })
  .catchall(anyJson)
  .transform(({ type, name }) => ({ type: 'provider' as const, kind: type, name }));
export type AnthropicTool = AnthropicCustomTool | AnthropicClientTool | z.output<typeof ProviderTool>;
const Tool = chosenBy(
  (value): z.ZodType<AnthropicTool> => {
    const type = typeIn(value);
    if (typeof type !== 'string' || type === 'custom') return AnthropicCustomTool;
    return clientTool(type) ? AnthropicClientTool : ProviderTool;
  },
  [AnthropicCustomTool, ProviderTool],
);

const serial = { disable_parallel_tool_use: z.boolean().nullish() };
const AnthropicToolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto'), ...serial }),
  z.strictObject({ type: z.literal('any'), ...serial }),
  z.strictObject({ type: z.literal('tool'), name: FunctionName, ...serial }),
  z.strictObject({ type: z.literal('none') }),
]);

const display = z.enum(['summarized', 'omitted']).nullish();
const block_binding = anyJson.optional();
const ThinkingConfig = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('adaptive'), display, block_binding }),
  z.strictObject({
    type: z.literal('enabled'),
    budget_tokens: z.int().min(1_024).max(1_000_000),
    display,
    block_binding,
  }),
  // Two words for the same, of which each model takes one. The catalog knows which (`thinking_off`).
  z.strictObject({ type: z.enum(['disabled', 'between_tools']) }).transform(() => ({ type: 'disabled' as const })),
]);

const OutputFormat = z.strictObject({ type: z.literal('json_schema'), schema: JsonRecord }).nullish();

/** The fields of a count of tokens. */
const counted = {
  model: z.string().min(1).max(200),
  messages: arrayOf(MessageIn, { min: 1, max: v1ItemsMax }),
  system: contentOf(Text).nullish(),
  tools: z.array(Tool).max(v1ToolsMax).nullish(),
  tool_choice: AnthropicToolChoice.nullish(),
  thinking: ThinkingConfig.nullish(),
  output_config: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
      format: OutputFormat,
    })
    .nullish(),
  // The earlier name of `output_config.format`.
  output_format: OutputFormat,
  cache_control,
  context_management: anyJson.optional(),
  speed: z.literal('standard').nullish(),
};

export const CountBody = z.strictObject({ ...counted, max_tokens: V1MaxTokens.nullish() });

export const MessagesBody = z.strictObject({
  ...counted,
  max_tokens: V1MaxTokens,
  // No longer among the types of the SDK; earlier versions send them.
  temperature: z.number().min(0).max(1).nullish(),
  ...optionalFields('anthropic'),
  ...v1Sampling,
  metadata: z.strictObject({ user_id: z.string().max(512).nullish() }).nullish(),
  service_tier: z.enum(['auto', 'standard_only']).nullish(),
  stream: z.boolean().nullish(),
});

/** An edit of the context that is not offered (`anthropic-betas.ts` says why). */
export const Compaction = z.object({ type: z.string().startsWith('compact_') });

/** Edits of the context (https://platform.claude.com/docs/en/build-with-claude/context-editing, read 2026-11-26) that keep all of it. */
export const KeepsAll = z.object({
  edits: z.array(
    z.object({
      type: z.string().startsWith('clear_thinking_'),
      keep: z.union([z.literal('all'), z.object({ type: z.literal('all') })]),
    }),
  ),
});

/** What must not be ignored in silence. */
export const messagesRules: FieldRules = {
  refused: {
    inference_geo: 'The field inference_geo is not supported: the gateway does not choose the region of a provider.',
    // The SDKs' tool runners ask for a stored thread first, and then send the whole conversation.
    thread: 'The field thread is not supported: threads are not stored here, so send the whole conversation.',
    fallbacks: 'The field fallbacks is not supported: the price of another model was not agreed.',
  },
};
