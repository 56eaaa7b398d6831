import type { RateState } from '../../db/projects/rate-limiter.ts';
import type { Deps } from '../../deps.ts';
import type { CatalogEntry, UpstreamMapping } from '../../domain/catalog/catalog.ts';
import { checkChatModel, isDataUri, withThoughts, type ChatReply, type ChatRequest } from '../../domain/chat/chat.ts';
import { chatHold, checkContext, checkTextLength, heldCredits, type ChatHold } from '../../domain/chat/chat-hold.ts';
import { familiesTaking } from '../../domain/chat/chat-supports.ts';
import { documentTokensOf } from '../../domain/chat/documents.ts';
import type { GatewayError } from '../../domain/errors.ts';
import type { TokenUsage } from '../../domain/catalog/token-classes.ts';
import type { CostDetails } from '../../domain/ledger/pricing.ts';
import { withThinkingLength } from '../../domain/chat/reasoning.ts';
import { checkInputUrl } from '../files/check-input-url.ts';
import type { EarlyHangUps } from './early-hang-ups.ts';
import type { LiveChats } from './live-chats.ts';
import type { RetryBudget } from './retry-budget.ts';
import { supportsOf } from './supports-of.ts';
import type { UndeliveredChats } from './undelivered-chats.ts';

export interface PreparedChat {
  entry: CatalogEntry;
  request: ChatRequest;
  hold: ChatHold;
  /** Credits for the worst case. */
  credits: number;
  /** Adapter families that support the request. */
  families: string[];
}

/** Checks a request, whose documents were measured (`measuredDocuments`), before credits are held: the model, its images, the size of the context, and which families support it. */
export function prepareChat(
  { adapters, egress }: Pick<Deps, 'adapters' | 'egress'>,
  entry: CatalogEntry,
  clientRequest: ChatRequest,
): PreparedChat {
  checkChatModel(entry.model, clientRequest);
  checkImageUrls({ egress }, clientRequest);
  checkTextLength(clientRequest);
  const supports = (family: string, api: UpstreamMapping['api'], vendor: string | undefined) =>
    supportsOf(adapters, family, api, vendor);
  const upstream = Object.entries(entry.private.upstream);
  // Thoughts that no provider is sent must not be paid for.
  const sent = withThoughts(clientRequest, {
    isReasoningKept: upstream.some(([, { keeps_reasoning: keeps }]) => keeps === true),
    kinds: upstream.flatMap(([family, { api, vendor }]) => supports(family, api, vendor)?.thoughts ?? []),
  });
  const request = withThinkingLength(sent, entry.private.max_tokens);
  const documents = documentTokensOf(
    upstream.map(([, mapping]) => mapping),
    entry.private.context_tokens,
  );
  const hold = chatHold(request, entry.private.image_tokens, documents);
  checkContext(entry, hold);
  const families = familiesTaking(entry.private.upstream, supports, request);
  const credits = heldCredits(entry.model.pricing, hold);
  return { entry, request, hold, credits, families };
}

/** The provider fetches these URLs. A private address would reach the network of a self-hosted provider. */
function checkImageUrls(deps: Pick<Deps, 'egress'>, { messages }: ChatRequest): void {
  for (const [at, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [index, part] of content.entries()) {
      if (part.type === 'text' || isDataUri(part.url)) continue;
      if (part.type === 'document') checkInputUrl(deps, part.url, part.at, { isInClientWords: true });
      else checkInputUrl(deps, part.url, `messages.${at}.content.${index}.image_url.url`);
    }
  }
}

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
  /** Writes the answer in the client's dialect. `broken` is the error with which a streamed answer ends that broke off. */
  render: (answer: ChatAnswered, broken: GatewayError | null) => { body: string };
  /** Seals a body for storage; null if it is too large. */
  sealAnswer: (body: string, answer: Pick<ChatAnswered, 'leftOut'>) => string | null;
  onRate: (rate: RateState) => void;
  /** Fires when the client of a streamed answer is gone. */
  gone?: AbortSignal;
  /** Why `gone` has fired. */
  whyGone?: () => 'client_left' | 'gateway_stopped';
}

export interface ChatAnswered {
  reply: ChatReply;
  /** What the client should know about the answer, in sentences. */
  warning?: string;
  /** The fields of the request that the provider was not sent, by the names of the shared checks. */
  leftOut?: readonly string[];
  usage: TokenUsage;
  credits: number;
  /** What the credits are for. */
  costDetails: CostDetails;
  attempts: number;
}
