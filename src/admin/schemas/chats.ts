import { z } from 'zod';
import { EndReason, LedgerEntrySchema } from '../../schemas/ledger-entry.ts';
import { timestamp, timestampOrNull } from '../../schemas/time.ts';
import { nullableTokenParts } from '../../schemas/token-parts.ts';
import { chatOutcomes } from '../../db/chat/chats.ts';
import { attemptOutcomes } from '../../domain/channels/upstream.ts';
import { costUnknown, unknownCosts } from './costs.ts';
import { keyId, projectId, requestId } from './ids.ts';

const row = {
  request_id: requestId,
  project_id: projectId,
  key_id: keyId,
  model: z.string(),
  outcome: z
    .enum(chatOutcomes)
    .describe(
      '`running`: its credits are held. `succeeded`: charged for a whole answer. `incomplete`: charged for what came of an answer that broke off, perhaps 0. `refunded`: the hold was given back.',
    ),
  reason: EndReason.nullable().describe(
    'Why it was refunded, or why a charged answer is not whole or cost nothing. `not_delivered`, too, of a chat that was charged and given back. Null for a whole answer, for a chat that runs, and for what an earlier release ended.',
  ),
  channels: z
    .array(z.string())
    .describe('That were called, in order. Only the last one once the rows of old calls are deleted.'),
  input_tokens: z.int().nullable().describe('Null unless it was charged.'),
  output_tokens: z.int().nullable().describe('Null unless it was charged.'),
  ...nullableTokenParts,
  usage_estimated: z.boolean().describe('The provider did not count the tokens.'),
  credits: z.object({
    reserved: z.int().describe('For the worst case, when it began.'),
    charged: z.int(),
    refunded: z
      .int()
      .describe('The whole reservation of a refunded chat; else what adjustments gave back after the charge.'),
  }),
  cost_micro_usd: z.number().describe('Of all its calls, by the catalog.'),
  unknown_costs: unknownCosts,
  created_at: timestamp.describe('When its credits were reserved.'),
  ended_at: timestampOrNull,
  took_ms: z.number().nullable(),
};

export const ChatRow = z.object(row).meta({ id: 'ChatRow' });

export const forCustomer = z
  .string()
  .describe('What may be sent to the customer: it names no channel and no provider.');

const ChatCallSchema = z
  .object({
    n: z.int(),
    channel: z.string(),
    outcome: z.enum(attemptOutcomes).nullable().describe('Null while it runs.'),
    error_class: z.string().nullable(),
    status: z.int().nullable().describe("The provider's HTTP status, if it answered."),
    detail: z.string().nullable().describe('The code of the error. Never what the prompt or the answer says.'),
    cost_micro_usd: z.number(),
    cost_unknown: costUnknown,
    started_at: timestamp,
    ended_at: timestampOrNull,
    took_ms: z.number().nullable(),
  })
  .meta({ id: 'ChatCall' });

export const ChatTimeline = z
  .object({
    ...row,
    explanation: z.string().describe('Why it ended as it did, in sentences.'),
    for_customer: forCustomer,
    expires_at: timestampOrNull.describe('While it runs: when it is refunded if no process ends it.'),
    attempts_detail: z.array(ChatCallSchema).describe('The calls to providers, in order.'),
    ledger: z.array(LedgerEntrySchema),
  })
  .meta({ id: 'ChatTimeline' });
