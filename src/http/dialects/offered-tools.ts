import type { ChatRequest, ChatTool } from '../../domain/chat/chat.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isNonNull } from './chat-fields.ts';
import { forcedProviderTool, type ProviderPart } from './provider-tools.ts';

/** What a request offers: its functions and custom tools, and the tools that a provider would run. */
export interface OfferedTools {
  tools: ChatTool[];
  providerRun: ProviderPart[];
}

/** A tool by the client's name of it. */
export interface NamedTool {
  type: 'function' | 'custom';
  name: string;
  namespace?: string | null | undefined;
}
interface ProviderRun {
  type: 'provider';
  kind: string;
}
/** What `tool_choice` says, in the words of a Responses request. */
export type Choice =
  | 'auto'
  | 'none'
  | 'required'
  | NamedTool
  | ProviderRun
  | { type: 'allowed_tools'; mode: 'auto' | 'required'; tools: (NamedTool | ProviderRun)[] };

/** Some clients end their namespaces with the separator. */
export const namespacedName = (namespace: string, name: string): string =>
  namespace === '' ? name : namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`;

/** The name under which a tool of the client is offered. One that is no longer offered gets the name that it had. */
export function offeredName(
  tools: readonly ChatTool[],
  { name, namespace }: { name: string; namespace?: string | null | undefined },
): string {
  if (!namespace) return name;
  const same = tools.find(({ group }) => group?.namespace === namespace && group.name === name);
  return same?.name ?? namespacedName(namespace, name);
}

/** The tools that the model may call, and whether it must. */
export interface ChosenTools extends OfferedTools {
  toolChoice: ChatRequest['toolChoice'];
}

/** What `tool_choice` leaves of the offered tools. Throws if it names a tool that is not offered. */
export function chosenTools(choice: Choice | null | undefined, { tools, providerRun }: OfferedTools): ChosenTools {
  const all = { tools, providerRun };
  if (!isNonNull(choice) || (tools.length === 0 && (choice === 'none' || choice === 'auto')))
    return { ...all, toolChoice: undefined };
  if (typeof choice === 'string') {
    if (tools.length === 0 && providerRun.length === 0) throw notOffered();
    return { ...all, toolChoice: choice };
  }
  if (choice.type === 'provider') throw forcedProviderTool(choice.kind);
  const find = (named: NamedTool): ChatTool => {
    const name = offeredName(tools, named);
    const tool = tools.find((one) => one.name === name);
    if (!tool) throw notOffered();
    return tool;
  };
  if (choice.type !== 'allowed_tools') return { ...all, toolChoice: { name: find(choice).name } };
  const allowed = new Set(choice.tools.flatMap((tool) => (tool.type === 'provider' ? [] : [find(tool)])));
  return { providerRun, ...allowedTools(tools, allowed, choice.mode) };
}

/** The allowed tools alone. If none of them can be offered, the model may call nothing. */
export function allowedTools(
  tools: readonly ChatTool[],
  allowed: ReadonlySet<ChatTool>,
  mode: 'auto' | 'required',
): Pick<ChosenTools, 'tools' | 'toolChoice'> {
  if (allowed.size > 0) return { tools: tools.filter((tool) => allowed.has(tool)), toolChoice: mode };
  if (mode === 'required') throw notOffered();
  return { tools: [...tools], toolChoice: tools.length > 0 ? 'none' : undefined };
}

const notOffered = (): GatewayError =>
  new GatewayError('invalid_value', { param: 'tool_choice', message: 'tool_choice: must name a tool of this request' });
