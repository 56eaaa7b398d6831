import { z } from 'zod';
import type { ChatTool } from '../../../domain/chat/chat.ts';
import { chosenBy, typeIn } from '../../request/validate.ts';
import { FunctionName, nonNullFields, JsonRecord, v1ToolsMax } from '../chat-fields.ts';
import { customTool } from '../custom-tool.ts';
import { namespacedName, type Choice, type NamedTool, type OfferedTools } from '../offered-tools.ts';
import { OpenaiProviderTool, type ProviderPart } from '../provider-tools.ts';

const shared = {
  name: FunctionName,
  description: z.string().nullish(),
  allowed_callers: z.array(z.literal('direct')).max(1).nullish(),
  // All tools are offered in the first request, because the search for tools is run by the provider.
  defer_loading: z.boolean().nullish(),
};
const FunctionTool = z.strictObject({
  type: z.literal('function'),
  ...shared,
  parameters: JsonRecord.nullish(),
  strict: z.boolean().nullish(),
  async: z.literal(false).nullish(),
  output_schema: z.null().optional(),
});
const CustomTool = z.strictObject({ type: z.literal('custom'), ...shared, format: JsonRecord.nullish() });

interface Namespace {
  type: 'namespace';
  name: string;
  description?: string | null | undefined;
  tools: ResponseTool[];
}
export type ResponseTool =
  z.output<typeof FunctionTool> | z.output<typeof CustomTool> | z.output<typeof OpenaiProviderTool> | Namespace;

/** A tool by its type. Unknown types are those of tools that a provider runs: vendors add them often. */
export const ResponsesTool = chosenBy(
  (value): z.ZodType<ResponseTool> => {
    const type = typeIn(value);
    if (type === 'custom') return CustomTool;
    if (type === 'namespace') return NamespaceTool;
    return type === 'function' || typeof type !== 'string' ? FunctionTool : OpenaiProviderTool;
  },
  [FunctionTool, CustomTool, OpenaiProviderTool],
);
const NamespaceTool: z.ZodType<Namespace> = z.strictObject({
  type: z.literal('namespace'),
  name: FunctionName,
  description: z.string().nullish(),
  tools: z.array(ResponsesTool).max(v1ToolsMax),
});

/** A list of tools and where it stands in the request. */
export interface ToolList {
  path: string;
  tools: readonly ResponseTool[];
}

/**
 * The tools of several lists as one. Those of a namespace are called `namespace__name`, because no family but OpenAI's own has groups; the
 * answer names them as the client does. A tool that comes again replaces the earlier one.
 */
export function offeredTools(lists: readonly ToolList[]): OfferedTools {
  const byIdentity = new Map<string, Omit<ChatTool, 'name'> & { own: string; namespace: string }>();
  const providerRun: ProviderPart[] = [];
  const add = ({ path, tools }: ToolList, namespace: string): void => {
    for (const [index, tool] of tools.entries()) {
      const at = `${path}.${index}`;
      if (tool.type === 'provider') providerRun.push({ path: at, kind: tool.kind });
      else if (tool.type === 'namespace')
        add({ path: `${at}.tools`, tools: tool.tools }, namespacedName(namespace, tool.name));
      else {
        const { name: own, ...offered } = toTool(tool);
        byIdentity.set(JSON.stringify([namespace, own]), { ...offered, own, namespace });
      }
    }
  };
  for (const list of lists) add(list, '');
  return { tools: withUniqueNames([...byIdentity.values()]), providerRun };
}

function withUniqueNames(
  offered: readonly (Omit<ChatTool, 'name'> & { own: string; namespace: string })[],
): ChatTool[] {
  const taken = new Set(offered.flatMap(({ own, namespace }) => (namespace === '' ? [own] : [])));
  return offered.map(({ own, namespace, ...tool }) => {
    if (namespace === '') return { name: own, ...tool };
    let name = namespacedName(namespace, own);
    for (let count = 2; taken.has(name); count += 1) name = `${namespacedName(namespace, own)}_${count}`;
    taken.add(name);
    return { name, ...tool, group: { namespace, name: own } };
  });
}

function toTool(tool: z.output<typeof FunctionTool> | z.output<typeof CustomTool>): ChatTool {
  if (tool.type === 'custom') return customTool(tool.name, tool);
  const { name, description, parameters, strict } = tool;
  return { name, ...nonNullFields({ description, parameters, strict }) };
}

const NamedToolIn = z.strictObject({
  type: z.enum(['function', 'custom']),
  name: FunctionName,
  namespace: FunctionName.nullish(),
});
const AllowedTools = z.strictObject({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: z
    .array(
      chosenBy((value): z.ZodType<NamedTool | z.output<typeof OpenaiProviderTool>> =>
        isNamed(value) ? NamedToolIn : OpenaiProviderTool,
      ),
    )
    .max(v1ToolsMax),
});
const isNamed = (value: unknown): boolean => ['function', 'custom'].includes(String(typeIn(value)));

const plainChoice = z.enum(['auto', 'none', 'required']);
export const ResponsesToolChoice = chosenBy(
  (value): z.ZodType<Choice> => {
    if (typeof value !== 'object' || value === null) return plainChoice;
    if (isNamed(value)) return NamedToolIn;
    return typeIn(value) === 'allowed_tools' ? AllowedTools : OpenaiProviderTool;
  },
  [plainChoice, NamedToolIn, AllowedTools],
);
