import { z } from 'zod';
import type { ChatContent, ChatMessage, ChatPart, ToolCall } from '../../../domain/chat/chat.ts';
import { arrayOf } from '../../request/validate.ts';
import { fieldError, FunctionName, nonNullFields, JsonRecord, v1ItemsMax } from '../chat-fields.ts';
import { notStored, toFilePart } from '../document-part.ts';
import { aliased, InlineData } from './gemini-fields.ts';

/** A file of any type in base64, and one by URL (https://ai.google.dev/gemini-api/docs/document-processing, read 2026-11-26). */
const AnyInlineData = aliased({
  mimeType: z.string().regex(/^[\w.+-]{1,60}\/[\w.+-]{1,120}$/, 'must be a media type'),
  data: z.string().min(1),
  displayName: z.string().optional(),
});
const FileData = aliased({
  fileUri: z.string().min(1).max(2_048),
  mimeType: z.string().max(200).nullish(),
  displayName: z.string().optional(),
});

const answer = { id: z.string().max(512).optional(), name: FunctionName, response: JsonRecord };
const PlainAnswer = aliased(answer);
/** With the files that the function returned. */
const V1Answer = aliased({
  ...answer,
  response: JsonRecord.optional(),
  parts: arrayOf(aliased({ inlineData: AnyInlineData.optional(), fileData: FileData.optional() }), {
    max: v1ItemsMax,
  }).nullish(),
}).superRefine(({ response, parts }, context) => {
  // rig sends files alone where a function returned nothing else.
  if (response !== undefined || (parts ?? []).length > 0) return;
  context.addIssue({ code: 'custom', path: ['response'], message: 'is required where there are no parts' });
});

const common = {
  text: z.string().optional(),
  functionCall: aliased({
    id: z.string().max(512).optional(),
    name: FunctionName,
    args: JsonRecord.nullish(),
  }).optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
};
const contentKinds = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const;
type Kinds = Partial<Record<(typeof contentKinds)[number] | 'thoughtSignature', unknown>>;
/** A part of exactly one kind, or where `maySignAlone` a signature without any, as streams end with. */
const ofOneKind = <Part extends z.ZodType<Kinds>>(part: Part, kinds: string, { maySignAlone = false } = {}) =>
  part.superRefine((value, context) => {
    const count = contentKinds.filter((kind) => value[kind] !== undefined).length;
    if (count === 1 || (maySignAlone && count === 0 && value.thoughtSignature !== undefined)) return;
    context.addIssue({ code: 'custom', message: `must have exactly one of ${kinds}` });
  });

const partsWith = <Part extends z.ZodType>(part: Part, { min = 1, max }: { min?: number; max: number }) =>
  aliased({
    // `function` is an older role of answers to function calls, and `tool` that of Google's own examples.
    role: z.enum(['user', 'model', 'function', 'tool']).nullish(),
    parts: arrayOf(part, { min, max }),
  });
const Part = ofOneKind(
  aliased({ ...common, inlineData: InlineData.optional(), functionResponse: PlainAnswer.optional() }),
  'text, inlineData, functionCall and functionResponse',
);
const V1Part = ofOneKind(
  aliased({
    ...common,
    inlineData: AnyInlineData.optional(),
    fileData: FileData.optional(),
    functionResponse: V1Answer.optional(),
  }),
  'text, inlineData, fileData, functionCall and functionResponse',
  { maySignAlone: true },
);
type Part = z.output<typeof V1Part>;
/** The turns of a conversation, which has at most `max` turns of at most as many parts. */
export const contentsWith = (max: number) => arrayOf(partsWith(Part, { max }), { min: 1, max });
/** The same under `/v1`, where an answer that had no text comes back as a turn without parts. */
export const v1ContentsWith = (max: number) => {
  const turn = partsWith(V1Part, { min: 0, max }).superRefine(({ role, parts }, context) => {
    if (parts.length > 0 || role === 'model') return;
    context.addIssue({ code: 'custom', path: ['parts'], message: 'must have a part' });
  });
  return arrayOf(turn, { min: 1, max });
};

/**
 * A call without an id gets one from its position, so that the same conversation has the same ids each time it is sent. An answer belongs to
 * the unanswered call with its id, else to the first one of its name, else to the first one that no answer of its turn names: Semantic Kernel
 * and ruby_llm before 1.9 give answers another name than their calls.
 */
export function messagesOfContents(contents: z.output<ReturnType<typeof v1ContentsWith>>): ChatMessage[] {
  const unanswered: Called[] = [];
  return contents.flatMap(({ role, parts }, index): ChatMessage[] => {
    const at = `contents.${index}`;
    // The model's thoughts belong to its own turn only, so they are not sent again.
    const placed = parts.map((part, partIndex) => ({ ...part, at: `${at}.parts.${partIndex}` }));
    const contentParts = placed.filter(({ thought }) => thought !== true);
    // Some clients send the results of functions as the model's.
    if (role === 'model' && !contentParts.every(({ functionResponse }) => functionResponse)) {
      if (contentParts.some(({ functionResponse }) => functionResponse))
        throw fieldError(at, 'a message with role model must not have a functionResponse');
      if (contentParts.some(({ inlineData, fileData }) => inlineData || fileData))
        throw fieldError(at, 'a message with role model must not have inlineData');
      const toolCalls = contentParts.flatMap((part, partIndex) => toToolCall(part, `call_${index}_${partIndex}`));
      unanswered.push(...toolCalls);
      const content = contentParts.flatMap(toPart);
      return [{ role: 'assistant', content: content.length > 0 ? content : null, toolCalls }];
    }
    if (contentParts.some(({ functionCall }) => functionCall))
      throw fieldError(at, 'only a message with role model may have a functionCall');
    const answersOfTurn = contentParts.flatMap(({ functionResponse }) => functionResponse ?? []);
    const ids = new Set(answersOfTurn.map(({ id }) => id));
    const names = new Set(answersOfTurn.map(({ name }) => name));
    const isNamed = ({ id, name }: Called): boolean => ids.has(id) || names.has(name);
    const answers = contentParts.flatMap(({ functionResponse: answer, at: partPath }): ChatMessage[] => {
      if (!answer) return [];
      const call = answeredCall(unanswered, answer, isNamed);
      if (!call) throw fieldError(at, 'no earlier functionCall matches this functionResponse');
      return [{ role: 'tool', toolCallId: call.id, content: toResult(answer, `${partPath}.functionResponse.parts`) }];
    });
    const content = contentParts.flatMap(toPart);
    return content.length > 0 ? [...answers, { role: 'user', content }] : answers;
  });
}

interface Called {
  id: string;
  name: string;
}

/** Removes the call of an answer from the unanswered ones, and returns it; undefined if there is none. */
function answeredCall(unanswered: Called[], answer: Partial<Called>, isNamed: (call: Called) => boolean) {
  const call =
    unanswered.find(({ id }) => id === answer.id) ??
    unanswered.find(({ name }) => name === answer.name) ??
    unanswered.find((one) => !isNamed(one));
  if (call) unanswered.splice(unanswered.indexOf(call), 1);
  return call;
}

function toResult({ response, parts }: z.output<typeof V1Answer>, at: string): ChatContent {
  const text = JSON.stringify(response ?? {});
  const files = (parts ?? []).flatMap((part, index) => toPart({ ...part, at: `${at}.${index}` }));
  if (files.length === 0) return text;
  return response ? [{ type: 'text', text }, ...files] : files;
}

const toToolCall = ({ functionCall: call, thoughtSignature: signature }: Part, ownId: string): ToolCall[] =>
  call
    ? [
        {
          id: call.id || ownId,
          name: call.name,
          arguments: JSON.stringify(call.args ?? {}),
          ...nonNullFields({ signature }),
        },
      ]
    : [];

function toPart({
  text,
  inlineData,
  fileData,
  at,
}: Pick<Part, 'text' | 'inlineData' | 'fileData'> & { at: string }): ChatPart[] {
  if (text !== undefined) return [{ type: 'text', text }];
  if (inlineData) {
    const { data, mimeType: mediaType, displayName: name } = inlineData;
    return [toFilePart({ at, data, mediaType: mediaType.toLowerCase(), name })];
  }
  return fileData ? [toFileByUrl(fileData, at)] : [];
}

function toFileByUrl(
  { fileUri: url, mimeType: mediaType, displayName: name }: z.output<typeof FileData>,
  at: string,
): ChatPart {
  // A file of Google's own store, which the client uploaded there.
  const isStored = !/^https?:/i.test(url) || /^https:\/\/generativelanguage\.googleapis\.com\//i.test(url);
  if (isStored) throw notStored(`${at}.fileData.fileUri`, 'Send its bytes in inlineData, or a PDF by its https URL.');
  return toFilePart({ at, url, mediaType: mediaType?.toLowerCase(), name });
}
