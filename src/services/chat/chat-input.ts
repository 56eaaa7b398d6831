import type { RateState } from '../../db/projects/rate-limiter.ts';
import type { Deps } from '../../deps.ts';
import type { TokenUsage } from '../../domain/catalog/token-classes.ts';
import type { ChatReply } from '../../domain/chat/chat.ts';
import type { GatewayError } from '../../domain/errors.ts';
import type { CostDetails } from '../../domain/ledger/pricing.ts';
import type { PreparedChat } from './prepare-chat.ts';
import type { EarlyHangUps } from './state/early-hang-ups.ts';
import type { LiveChats } from './state/live-chats.ts';
import type { LostChats } from './state/lost-chats.ts';
import type { RetryBudget } from './state/retry-budget.ts';
import type { UndeliveredChats } from './state/undelivered-chats.ts';

export type ChatDeps = Pick<
  Deps,
  | 'config'
  | 'db'
  | 'egress'
  | 'chatLedger'
  | 'catalog'
  | 'channels'
  | 'adapters'
  | 'sealer'
  | 'logger'
  | 'metrics'
  | 'tokenCounter'
  | 'pdfMeter'
> & {
  retryBudget: RetryBudget;
  undelivered: Pick<UndeliveredChats, 'giveBack'>;
  liveChats: LiveChats;
  earlyHangUps: EarlyHangUps;
  lostChats: LostChats;
};

export interface ChatInput {
  requestId: string;
  key: { keyId: string; projectId: string; rpm: number | null };
  prepared: PreparedChat;
  /** The session that the client says the request belongs to. */
  sessionId?: string | undefined;
  /** Whether the request was already counted against its key's rate. */
  rateCounted: boolean;
  idempotency: { route: string; key: string; fingerprint: string } | null;
  /** Writes the answer in the client's dialect. `broken` is the error that ended a streamed answer early. */
  render: (answer: ChatAnswered, broken: GatewayError | null) => { body: string };
  /** Seals a body for storage; null if it is too large. */
  sealAnswer: (body: string, answer: Pick<ChatAnswered, 'leftOut'>) => string | null;
  onRate: (rate: RateState) => void;
  /** Whether the client has left, which only says why a whole answer did not reach it: the chat goes on. */
  hasLeft: () => boolean;
  /** Keeps a whole answer for a repetition if the client has left, before the answer is charged. */
  keepIfLost?: (body: string, answer: Pick<ChatAnswered, 'leftOut' | 'credits'>) => Promise<void>;
  /** Ends a streamed answer: its client has left, or this process stops. */
  gone?: AbortSignal;
  /** Why `gone` has fired. */
  whyGone?: () => 'client_left' | 'gateway_stopped';
}

export interface ChatAnswered {
  reply: ChatReply;
  /** What the client should know about the answer, in sentences. */
  warning?: string;
  /** The fields of the request that the provider did not get, by their names in `ChatRequest`. */
  leftOut?: readonly string[];
  usage: TokenUsage;
  credits: number;
  /** What the credits are for. */
  costDetails: CostDetails;
  attempts: number;
}
