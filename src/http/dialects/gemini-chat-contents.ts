import { z } from 'zod';
import type { ChatContent, ChatMessage, ChatPart, ToolCall } from '../../domain/chat.ts';
import { listOf } from '../validate.ts';
import { FunctionName, given, JsonRecord, v1ItemsMax } from './chat-fields.ts';
import { aliased, dataUriOf, InlineData, refused } from './gemini-fields.ts';

const answer = { id: z.string().max(512).optional(), name: FunctionName, response: JsonRecord };
const PlainAnswer = aliased(answer);
/** With the pictures that the function returned. */
const V1Answer = aliased({
  ...answer,
  parts: listOf(aliased({ inlineData: InlineData }), { max: v1ItemsMax }).nullish(),
});

const partWith = <Answer extends z.ZodType>(functionResponse: Answer) =>
  aliased({
    text: z.string().optional(),
    inlineData: InlineData.optional(),
    functionCall: aliased({
      id: z.string().max(512).optional(),
      name: FunctionName,
      args: JsonRecord.nullish(),
    }).optional(),
    functionResponse: functionResponse.optional(),
    thought: z.boolean().optional(),
    thoughtSignature: z.string().optional(),
  }).superRefine((part, context) => {
    const given = [part.text, part.inlineData, part.functionCall, part.functionResponse].filter(
      (one) => one !== undefined,
    );
    if (given.length === 1) return;
    context.addIssue({
      code: 'custom',
      message: 'must have exactly one of text, inlineData, functionCall and functionResponse',
    });
  });

const partsWith = <Part extends z.ZodType>(part: Part, max: number) =>
  aliased({
    // `function` is an older role of answers to function calls.
    role: z.enum(['user', 'model', 'function']).nullish(),
    parts: listOf(part, { min: 1, max }),
  });
const Part = partWith(PlainAnswer);
const V1Part = partWith(V1Answer);
type Part = z.output<typeof V1Part>;
/** The turns of a conversation, which has at most `max` turns of at most as many parts. */
export const contentsWith = (max: number) => listOf(partsWith(Part, max), { min: 1, max });
/** The same under `/v1`. */
export const v1ContentsWith = (max: number) => listOf(partsWith(V1Part, max), { min: 1, max });

/**
 * A call without an id gets one from its position, so that the same conversation has the same ids each time it is sent. An
 * answer without an id belongs to the first unanswered call of its name.
 */
export function toMessages(contents: z.output<ReturnType<typeof v1ContentsWith>>): ChatMessage[] {
  const unanswered: { id: string; name: string }[] = [];
  return contents.flatMap(({ role, parts }, index): ChatMessage[] => {
    const at = `contents.${index}`;
    // The model's thoughts belong to its own turn only, so they are not sent again.
    const said = parts.filter(({ thought }) => thought !== true);
    if (role === 'model') {
      if (said.some(({ functionResponse }) => functionResponse))
        throw refused(at, 'a message with role model must not have a functionResponse');
      if (said.some(({ inlineData }) => inlineData))
        throw refused(at, 'a message with role model must not have inlineData');
      const toolCalls = said.flatMap((part, place) => toToolCall(part, `call_${index}_${place}`));
      unanswered.push(...toolCalls);
      const content = said.flatMap(toPart);
      return [{ role: 'assistant', content: content.length > 0 ? content : null, toolCalls }];
    }
    if (said.some(({ functionCall }) => functionCall))
      throw refused(at, 'only a message with role model may have a functionCall');
    const answers = said.flatMap(({ functionResponse: answer }): ChatMessage[] => {
      if (!answer) return [];
      const place = unanswered.findIndex(({ id, name }) => (answer.id ? id === answer.id : name === answer.name));
      const [call] = place < 0 ? [] : unanswered.splice(place, 1);
      if (!call) throw refused(at, 'no earlier functionCall matches this functionResponse');
      return [{ role: 'tool', toolCallId: call.id, content: toResult(answer) }];
    });
    const content = said.flatMap(toPart);
    return content.length > 0 ? [...answers, { role: 'user', content }] : answers;
  });
}

function toResult({ response, parts }: z.output<typeof V1Answer>): ChatContent {
  const text = JSON.stringify(response);
  const pictures = (parts ?? []).map(({ inlineData }) => ({ type: 'image' as const, url: dataUriOf(inlineData) }));
  return pictures.length > 0 ? [{ type: 'text', text }, ...pictures] : text;
}

const toToolCall = ({ functionCall: call, thoughtSignature: signature }: Part, ownId: string): ToolCall[] =>
  call
    ? [{ id: call.id || ownId, name: call.name, arguments: JSON.stringify(call.args ?? {}), ...given({ signature }) }]
    : [];

function toPart({ text, inlineData }: Part): ChatPart[] {
  if (text !== undefined) return [{ type: 'text', text }];
  if (!inlineData) return [];
  return [{ type: 'image', url: dataUriOf(inlineData) }];
}
