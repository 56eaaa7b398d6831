import { z } from 'zod';
import { chosenBy, typeIn } from '../../request/validate.ts';
import { CacheMark, FunctionName, nonNullFields, isNonNull, JsonRecord, v1ToolsMax } from '../chat-fields.ts';
import { customTool } from '../custom-tool.ts';
import type { Choice, OfferedTools } from '../offered-tools.ts';
import { OpenaiProviderTool } from '../provider-tools.ts';

export const ChatFunction = z.object({
  type: z.literal('function'),
  function: z.object({
    name: FunctionName,
    description: z.string().nullish(),
    parameters: JsonRecord.nullish(),
    strict: z.boolean().nullish(),
  }),
  cache_control: CacheMark,
});
const ChatCustom = z.object({
  type: z.literal('custom'),
  custom: z.object({ name: FunctionName, description: z.string().nullish(), format: JsonRecord.nullish() }),
});
type ChatToolIn = z.output<typeof ChatFunction> | z.output<typeof ChatCustom> | z.output<typeof OpenaiProviderTool>;

/** A tool under `/v1`. */
export const V1ChatTool = chosenBy(
  (value): z.ZodType<ChatToolIn> => {
    const type = typeIn(value);
    if (type === 'custom') return ChatCustom;
    return type === 'function' || typeof type !== 'string' ? ChatFunction : OpenaiProviderTool;
  },
  [ChatFunction, ChatCustom],
);

/** What the request offers, as the shared checks know it. */
export function offeredChatTools(tools: readonly ChatToolIn[]): OfferedTools {
  const offered: OfferedTools = { tools: [], providerRun: [] };
  for (const [index, tool] of tools.entries()) {
    if (tool.type === 'provider') offered.providerRun.push({ path: `tools.${index}`, kind: tool.kind });
    else if (tool.type === 'custom') offered.tools.push(customTool(tool.custom.name, tool.custom));
    else {
      const { name, ...rest } = tool.function;
      offered.tools.push({ name, ...nonNullFields({ ...rest, cacheControl: tool.cache_control }) });
    }
  }
  return offered;
}

const plainChoice = z.enum(['auto', 'none', 'required']);
const NamedFunction = z.object({ type: z.literal('function'), function: z.object({ name: FunctionName }) });
const NamedCustom = z.object({ type: z.literal('custom'), custom: z.object({ name: FunctionName }) });
export const FunctionChoice = z.union([plainChoice, NamedFunction]);

type Named = z.output<typeof NamedFunction> | z.output<typeof NamedCustom> | z.output<typeof OpenaiProviderTool>;
const namedBy = (value: unknown): z.ZodType<Named> => {
  const type = typeIn(value);
  if (type === 'custom') return NamedCustom;
  return type === 'function' || typeof type !== 'string' ? NamedFunction : OpenaiProviderTool;
};
const AllowedTools = z.object({
  type: z.literal('allowed_tools'),
  allowed_tools: z.object({
    mode: z.enum(['auto', 'required']),
    tools: z.array(chosenBy(namedBy, [NamedFunction, NamedCustom])).max(v1ToolsMax),
  }),
});
type ChoiceIn = z.output<typeof plainChoice> | Named | z.output<typeof AllowedTools>;

/** `tool_choice` under `/v1`. `any` is what SDKs of Mistral call `required`. */
export const V1ToolChoice = chosenBy(
  (value): z.ZodType<ChoiceIn> => {
    if (value === 'any') return z.literal('any').transform(() => 'required');
    if (typeof value !== 'object' || value === null) return plainChoice;
    return typeIn(value) === 'allowed_tools' ? AllowedTools : namedBy(value);
  },
  [plainChoice, NamedFunction, NamedCustom, AllowedTools],
);

/** The choice in the form of a Responses request. */
export function toChosen(choice: ChoiceIn | null | undefined): Choice | undefined {
  if (!isNonNull(choice)) return undefined;
  if (typeof choice === 'string') return choice;
  if (choice.type !== 'allowed_tools') return toNamed(choice);
  const { mode, tools } = choice.allowed_tools;
  return { type: 'allowed_tools', mode, tools: tools.map(toNamed) };
}

function toNamed(named: Named) {
  if (named.type === 'provider') return named;
  return named.type === 'custom'
    ? { type: named.type, name: named.custom.name }
    : { type: named.type, name: named.function.name };
}
