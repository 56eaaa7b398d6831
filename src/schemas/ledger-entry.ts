import { z } from 'zod';
import { chatEndReasons, sentenceOf, type ChatEndReason } from '../domain/chat/chat-end-reason.ts';
import { entryKinds } from '../domain/ledger/entry-kind.ts';
import { taskErrorTable, type TaskErrorCode } from '../domain/tasks/task.ts';
import { listOf } from './list.ts';
import { timestamp } from './time.ts';
import { nullableTokenParts } from './token-parts.ts';

const lineOf = (reason: ChatEndReason): string => `- \`${reason}\`: ${sentenceOf(reason)}`;

const taskErrors = Object.keys(taskErrorTable) as TaskErrorCode[];

/** Why a request ended as it did. Tasks have the code of their error, and some chats end for the same. */
export const EndReason = z.enum([...new Set([...chatEndReasons, ...taskErrors])]).meta({
  id: 'EndReason',
  description: ['Of a task: the code of its error. Of a chat:', ...chatEndReasons.map(lineOf)].join('\n'),
});

/** Either `task_id` or `request_id` names what an entry is about. Both are null for a top-up, a deduction and an expiry. */
export const LedgerEntrySchema = z
  .object({
    entry_id: z.string(),
    at: timestamp,
    kind: z.enum(entryKinds),
    credits: z.int().describe('Negative if the entry takes credits.'),
    balance_after: z.int().describe('The balance before plus `credits`, reserved credits included.'),
    task_id: z.string().nullable(),
    request_id: z.string().nullable().describe('The `x-request-id` of a chat.'),
    key_id: z.string().nullable(),
    reference: z
      .string()
      .nullable()
      .describe(
        "The operator's reference of a top-up or a deduction, or reason of an adjustment by an operator. Of an expiry: that of the top-up.",
      ),
    reason: z
      .union([EndReason, z.string()])
      .nullable()
      .describe(
        "Of a refund: why. Of a chat's settlement: why the answer is not whole or cost nothing. Of an adjustment: `not_delivered` if the answer of a charged chat was not delivered. Of a deduction: what the operator wrote. Null otherwise, and for what an earlier release ended.",
      ),
    input_tokens: z.int().nullable().describe("Of a chat's settlement: the tokens that were charged. Null otherwise."),
    ...nullableTokenParts,
    output_tokens: z.int().nullable().describe('As `input_tokens`.'),
  })
  .meta({ id: 'LedgerEntry' });
export type PublicEntry = z.input<typeof LedgerEntrySchema>;

export const LedgerList = listOf(LedgerEntrySchema);
