import type { z } from 'zod';
import { tokenColumns, toTokenColumns, type TokenColumn } from '../../domain/catalog/token-counts.ts';
import type { RequestView } from '../../db/requests/request-filter.ts';
import type { ChatRow } from '../schemas/chats.ts';
import type { RequestRow } from '../schemas/requests.ts';
import { time, usd } from '../plain-text.ts';

/** The members that chats and tasks have in common. */
type CommonRequestView = Omit<RequestView, 'type' | 'taskId' | 'projectName' | 'keyName'>;

/** A request of any type as `--json` shows it. */
export const requestRow = (request: RequestView): z.input<typeof RequestRow> => ({
  ...chatRow(request),
  // Tasks are not charged by tokens.
  ...(request.taskId !== null && { input_tokens: null, output_tokens: null }),
  task_id: request.taskId,
  type: request.type,
  project_name: request.projectName,
  key_name: request.keyName,
});

/** A request as a line of a list shows it, after its id. */
export function requestLine(request: RequestView, showCredits: (credits: number) => string) {
  const { credits, input_tokens: input, output_tokens: output, cost_micro_usd: cost, ...row } = requestRow(request);
  return {
    project: row.project_name || row.project_id,
    key: row.key_name || row.key_id,
    model: row.model,
    outcome: row.outcome,
    reason: row.reason,
    channels: row.channels.join(', '),
    tokens: input === null ? null : `${input}+${output}`,
    charged: showCredits(credits.charged),
    refunded: showCredits(credits.refunded),
    cost_usd: row.unknown_costs === 0 ? usd(cost) : cost === 0 ? 'unknown' : `at least ${usd(cost)}`,
    created_at: time(row.created_at),
    took_ms: row.took_ms,
  };
}

const noCounts = Object.fromEntries(tokenColumns.map((column) => [column, null])) as Record<TokenColumn, null>;

const isCharged = ({ outcome }: CommonRequestView): boolean => outcome === 'succeeded' || outcome === 'incomplete';

/** A chat as `--json` shows it. */
export const chatRow = (chat: CommonRequestView): z.input<typeof ChatRow> => ({
  request_id: chat.requestId,
  project_id: chat.projectId,
  key_id: chat.keyId,
  model: chat.modelId,
  outcome: chat.outcome,
  reason: chat.reason,
  channels: chat.channels,
  ...(isCharged(chat)
    ? toTokenColumns({ ...chat, inputTokens: chat.inputTokens ?? 0, outputTokens: chat.outputTokens ?? 0 })
    : noCounts),
  usage_estimated: chat.usageEstimated,
  credits: {
    reserved: chat.creditsHeld,
    charged: chat.creditsCharged,
    refunded: chat.outcome === 'refunded' ? chat.creditsHeld : chat.creditsGivenBack,
  },
  cost_micro_usd: chat.costMicroUsd,
  unknown_costs: chat.unknownCosts,
  created_at: chat.startedAt,
  ended_at: chat.endedAt,
  took_ms: chat.tookMs,
});
