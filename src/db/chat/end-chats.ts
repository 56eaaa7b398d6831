import { tokenPartNames } from '../../domain/catalog/token-classes.ts';
import { toArrays } from '../array-literal.ts';
import type { Statements } from '../database.ts';
import type { ChatEnd } from './chat-facts.ts';

/** What a call of `finish_chats.sql` says of one chat. */
export interface WrittenChatEnd {
  ended: boolean;
  charged: number;
}

/** Charges a chat that its first call answered, and whose answer is not kept for a replay. The result and the rows are those of `endTogether`. */
export const endAlone = (database: Pick<Statements, 'call'>, chat: ChatEnd): Promise<WrittenChatEnd[]> =>
  database.call('finish_chats_alone', [
    chat.requestId,
    chat.settle,
    chat.channelId,
    chat.inputTokens,
    chat.outputTokens,
    chat.usageEstimated,
    chat.deliveredTokens,
    chat.costMicroUsd,
    chat.reason,
    ...tokenPartNames.map((part) => chat.tokenClasses && (chat.tokenClasses[part] ?? 0)),
  ]);

/** Ends a batch of chats in one call. */
export function endTogether(database: Pick<Statements, 'call'>, members: ChatEnd[]): Promise<WrittenChatEnd[]> {
  const column = <T>(value: (member: ChatEnd) => T): T[] => members.map(value);
  return database.call(
    'finish_chats',
    toArrays([
      column(({ requestId }) => requestId),
      column(({ settle }) => settle),
      column(({ channelId }) => channelId),
      column(({ inputTokens }) => inputTokens),
      column(({ outputTokens }) => outputTokens),
      column(({ usageEstimated }) => usageEstimated),
      column(({ deliveredTokens }) => deliveredTokens),
      column(({ costMicroUsd }) => costMicroUsd),
      column(({ attempt }) => attempt?.attemptId),
      column(({ attempt }) => attempt?.outcome),
      column(({ attempt }) => attempt?.errorClass),
      column(({ attempt }) => attempt?.status),
      column(({ attempt }) => attempt?.detail),
      column(({ answer }) => answer?.status),
      column(({ answer }) => answer?.body),
      column(({ reason }) => reason),
      ...tokenPartNames.map((part) => column(({ tokenClasses }) => tokenClasses && (tokenClasses[part] ?? 0))),
    ]),
  );
}
