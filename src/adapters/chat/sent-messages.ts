import { z } from 'zod';
import {
  isBlank,
  partsOfContent,
  textOfContent,
  type ChatContent,
  type ChatMessage,
  type ChatPart,
  type ChatPicture,
  type PdfPart,
  type ToolMessage,
  type UpstreamChat,
} from '../../domain/chat/chat.ts';
import { isObject, type JsonObject, type JsonValue } from '../../domain/json.ts';

/** Whether a message has instructions. */
export const isSystem = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer';

/**
 * For families with one field for instructions: all system and developer messages as one text and as parts, and the other messages.
 */
export function splitSystem(messages: readonly ChatMessage[]): Instructions & { conversation: ChatMessage[] } {
  return {
    ...instructionsOf(messages.filter(isSystem)),
    conversation: messages.filter((message) => !isSystem(message)),
  };
}

interface Instructions {
  system: string;
  systemParts: ChatPart[];
}

/** Messages as one text and as parts. Blank instructions are none: Anthropic refuses them. */
export const instructionsOf = (messages: readonly ChatMessage[]): Instructions => ({
  system: messages
    .map(({ content }) => textOfContent(content))
    .filter((text) => text.trim() !== '')
    .join('\n\n'),
  systemParts: messages.flatMap(({ content }) => partsOfContent(content).filter((part) => !isBlank(part))),
});

/**
 * The messages as turns. Adjacent messages of one role become one turn, because the results of parallel tool calls must be in one
 * turn. A message without parts is left out, unless it is a system message with fields of its vendor. `toParts` is called in the order of the messages.
 */
export function toTurns(
  messages: readonly ChatMessage[],
  assistantRole: 'assistant' | 'model',
  toParts: (message: ChatMessage) => JsonValue[],
): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const otherRole = isSystem(message) ? 'system' : 'user';
    const role = message.role === 'assistant' ? assistantRole : otherRole;
    const parts = toParts(message);
    const last = turns.at(-1);
    if (parts.length === 0 && !(role === 'system' && message.vendor)) continue;
    if (last?.role !== role) turns.push({ role, parts, vendor: { ...message.vendor } });
    else {
      last.parts.push(...parts);
      Object.assign(last.vendor, message.vendor);
    }
  }
  return turns;
}

interface Turn {
  role: string;
  parts: JsonValue[];
  /** The fields of its messages that only the family of their vendor is sent. */
  vendor: JsonObject;
}

/**
 * The messages for a family whose results of tools are text: the pictures and documents of results follow them in a message of the user. Results of
 * parallel calls stay together. A file that the family takes in a result (`staysInResult`) stays there.
 */
export function filesAfterResults(
  messages: readonly ChatMessage[],
  staysInResult: (file: ChatPicture | PdfPart) => boolean = () => false,
): ChatMessage[] {
  const all: ChatMessage[] = [];
  let files: ChatPart[] = [];
  const flush = (): void => {
    if (files.length > 0) all.push({ role: 'user', content: files });
    files = [];
  };
  for (const message of messages) {
    if (message.role !== 'tool') flush();
    const isMoved = (part: ChatPart): boolean => part.type !== 'text' && !staysInResult(part);
    const moved = message.role === 'tool' ? partsOfContent(message.content).filter(isMoved) : [];
    if (moved.length === 0) all.push(message);
    else {
      all.push({ ...message, content: withoutParts(message.content, moved) });
      files.push({ type: 'text', text: `The ${kindsOf(moved)} that the tool returned:` }, ...moved);
    }
  }
  flush();
  return all;
}

/** What a model is told about the files of a result: `picture`, `2 pictures and document`. */
export function kindsOf(files: readonly ChatPart[]): string {
  const documents = files.filter(({ type }) => type === 'document').length;
  const counted = (count: number, kind: string): string[] =>
    count === 0 ? [] : [count === 1 ? kind : `${count} ${kind}s`];
  return [...counted(files.length - documents, 'picture'), ...counted(documents, 'document')].join(' and ');
}

/** The content of a result without the files that follow it. It is one text unless other files are left. */
function withoutParts(content: ChatContent | null, moved: readonly ChatPart[]): ChatContent {
  const kept = partsOfContent(content).filter((part) => !moved.includes(part));
  if (kept.some(({ type }) => type !== 'text')) return kept;
  return textOfContent(kept) || `The result is the ${kindsOf(moved)} in the next message.`;
}

/** The name of a PDF for an API that wants one. */
export const pdfNameOf = ({ name, title }: PdfPart): string => name ?? title ?? 'document.pdf';

/** The result of a tool as text. A family without a mark for a failed tool is told of the failure in words. */
export function resultText({ content, isError }: ToolMessage): string {
  const text = textOfContent(content);
  // A result that says so by itself begins with it.
  return isError && !/error/i.test(text.slice(0, 100)) ? `Error: ${text}` : text;
}

/** The object in a JSON text, such as the arguments of a tool call. Null for any other text. */
export function objectIn(text: string): JsonObject | null {
  try {
    return z.record(z.string(), z.json()).safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** An object among the fields that only the API of the request's own vendor knows; empty if there is none. */
export function ownObject({ vendor }: UpstreamChat, name: string): JsonObject {
  const value = vendor?.fields[name];
  return isObject(value) ? value : {};
}
