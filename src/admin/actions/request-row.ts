import type { z } from 'zod';
import type { RequestView } from '../../db/requests/request-filter.ts';
import type { ChatRow } from '../schemas/chats.ts';
import type { RequestRow } from '../schemas/requests.ts';

/** What both a chat and a request of any type have. */
type ShownRequest = Omit<RequestView, 'type' | 'taskId' | 'projectName' | 'keyName'>;

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

const isCharged = ({ outcome }: ShownRequest): boolean => outcome === 'succeeded' || outcome === 'incomplete';

/** A chat as `--json` shows it. */
export const chatRow = (chat: ShownRequest): z.input<typeof ChatRow> => ({
  request_id: chat.requestId,
  project_id: chat.projectId,
  key_id: chat.keyId,
  model: chat.modelId,
  outcome: chat.outcome,
  reason: chat.reason,
  channels: chat.channels,
  input_tokens: isCharged(chat) ? (chat.inputTokens ?? 0) : null,
  output_tokens: isCharged(chat) ? (chat.outputTokens ?? 0) : null,
  cached_input_tokens: isCharged(chat) ? chat.cachedInputTokens : null,
  cache_write_tokens: isCharged(chat) ? chat.cacheWriteTokens : null,
  cache_write_1h_tokens: isCharged(chat) ? chat.cacheWrite1hTokens : null,
  reasoning_tokens: isCharged(chat) ? chat.reasoningTokens : null,
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
