import { createHash, randomUUID } from 'node:crypto';
import type { ChatMessage, ChatReply, ToolCall, UpstreamChat } from '../../domain/chat/chat.ts';
import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import { plainToolSchema } from './plain-tool-schema.ts';

/** What a vendor takes of tools. */
export interface ToolRules {
  /** The characters that it refuses in a name. */
  nameRefused: RegExp;
  nameMax: number;
  /** A name must begin with a letter or `_`. */
  beginsWithLetter?: true;
  /** The characters that it refuses in the id of a call. */
  idRefused?: RegExp;
  idMax?: number;
  /** The ids of all calls of a conversation must differ. */
  hasUniqueIds?: true;
  /** The schema of a tool must not be a choice of schemas. */
  hasPlainSchemas?: true;
}

/** A request in words that the vendor takes, and the way back to the words of the client. */
export interface TakenTools {
  request: UpstreamChat;
  reply: <Reply>(reply: Reply | ChatReply) => Reply | ChatReply;
  /** Null if no name was changed. */
  delta: ((delta: ChatDelta) => ChatDelta) | null;
}

/**
 * The request with names and ids of tools that a vendor takes. A refused character becomes `_`, a long name is cut, and two names never become
 * one. The answer calls each tool by the client's name again. Ids that repeat are renamed turn by turn, together with their results.
 */
export function withTakenTools(request: UpstreamChat, rules: ToolRules): TakenTools {
  const names = namesFor(request, rules);
  const own = new Map([...names].map(([name, taken]) => [taken, name]));
  const nameOf = (name: string): string => names.get(name) ?? name;
  const back = (name: string): string => own.get(name) ?? name;
  const choice = request.toolChoice;
  return {
    request: {
      ...request,
      messages: renamedCalls(request.messages, rules).map((message) => named(message, nameOf)),
      tools: request.tools.map((tool) => ({
        ...tool,
        name: nameOf(tool.name),
        ...(rules.hasPlainSchemas && tool.parameters && { parameters: plainToolSchema(tool.parameters) }),
      })),
      ...(typeof choice === 'object' && { toolChoice: { name: nameOf(choice.name) } }),
    },
    reply: <Reply>(reply: Reply | ChatReply) =>
      isReply(reply)
        ? { ...reply, toolCalls: reply.toolCalls.map((call) => ({ ...call, name: back(call.name) })) }
        : reply,
    delta:
      names.size === 0
        ? null
        : (delta) =>
            delta.kind === 'tool_call' && delta.name !== undefined ? { ...delta, name: back(delta.name) } : delta,
  };
}

const isReply = (reply: unknown): reply is ChatReply =>
  typeof reply === 'object' && reply !== null && 'toolCalls' in reply;

/** The names of the request that the vendor refuses, and what they become. */
function namesFor({ tools, messages }: UpstreamChat, rules: ToolRules): ReadonlyMap<string, string> {
  const called = messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []));
  const all = [...new Set([...tools, ...called].map(({ name }) => name))];
  const isTaken = (name: string): boolean => takenName(name, rules) === name;
  const taken = new Set(all.filter(isTaken));
  const names = new Map<string, string>();
  for (const name of all.filter((one) => !isTaken(one))) {
    const wanted = takenName(name, rules);
    let free = wanted;
    for (let count = 2; taken.has(free); count += 1) {
      const suffix = `_${count}`;
      free = wanted.slice(0, rules.nameMax - suffix.length) + suffix;
    }
    taken.add(free);
    names.set(name, free);
  }
  return names;
}

function takenName(name: string, { nameRefused, nameMax, beginsWithLetter }: ToolRules): string {
  const plain = name.replaceAll(nameRefused, '_');
  return (beginsWithLetter && !/^[A-Za-z_]/.test(plain) ? `_${plain}` : plain).slice(0, nameMax);
}

function named(message: ChatMessage, nameOf: (name: string) => string): ChatMessage {
  if (message.role === 'assistant')
    return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, name: nameOf(call.name) })) };
  if (message.role !== 'tool' || typeof message.content === 'string') return message;
  const content = message.content.map((part) =>
    part.type === 'text' && part.toolReference !== undefined
      ? { ...part, toolReference: nameOf(part.toolReference) }
      : part,
  );
  return { ...message, content };
}

/** Each result belongs to the latest call of its id that has no result yet. */
function renamedCalls(messages: readonly ChatMessage[], rules: ToolRules): ChatMessage[] {
  const taken = new Set<string>();
  const waiting = new Map<string, string[]>();
  const renamed = (calls: readonly ToolCall[]): ToolCall[] => {
    const ofTurn = new Map<string, string[]>();
    const all = calls.map((call) => {
      const id = uniqueId(takenId(call.id, rules), taken, rules);
      ofTurn.set(call.id, [...(ofTurn.get(call.id) ?? []), id]);
      return { ...call, id };
    });
    for (const [id, ids] of ofTurn) waiting.set(id, ids);
    return all;
  };
  return messages.map((message) => {
    if (message.role === 'assistant') return { ...message, toolCalls: renamed(message.toolCalls) };
    if (message.role !== 'tool') return message;
    const ids = waiting.get(message.toolCallId);
    const id = ids && ids.length > 1 ? ids.shift() : ids?.[0];
    return { ...message, toolCallId: id ?? takenId(message.toolCallId, rules) };
  });
}

function takenId(id: string, { idRefused, idMax = Infinity }: ToolRules): string {
  const plain = idRefused ? id.replaceAll(idRefused, '_') : id;
  if (plain.length <= idMax) return plain;
  // Equal ids stay equal, and different ones differ.
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 16);
  return `${plain.slice(0, idMax - hash.length - 1)}_${hash}`;
}

function uniqueId(id: string, taken: Set<string>, { hasUniqueIds }: ToolRules): string {
  if (!hasUniqueIds) return id;
  let free = id;
  for (let count = 2; taken.has(free); count += 1) free = `${id}_${count}`;
  taken.add(free);
  return free;
}

/**
 * The provider's id of a tool call, or one of ours. Ours are unique, because a client keeps calls and results by their ids over a whole
 * conversation. OpenAI takes at most 40 characters.
 */
export const callIdOr = (id: string | null | undefined): string => id || `call_${randomUUID().replaceAll('-', '')}`;

/** OpenAI's rules. Chat completions take shorter ids than responses. */
export const openaiToolRules = (idMax: 40 | 64): ToolRules => ({
  nameRefused: /[^\w-]/g,
  nameMax: 64,
  idMax,
  hasPlainSchemas: true,
});
