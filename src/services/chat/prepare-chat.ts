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
  /** Credits to hold: the price of the worst case. */
  credits: number;
  /** Adapter families that support the request. */
  families: string[];
}

/**
 * Checks a request before credits are held, and computes its hold. Its documents must have been measured (`measuredDocuments`). The returned
 * request lacks the thoughts that no provider gets, and leaves room to think. Throws GatewayError.
 */
export function prepareChat(
  { adapters, egress }: Pick<Deps, 'adapters' | 'egress'>,
  entry: CatalogEntry,
  clientRequest: ChatRequest,
): PreparedChat {
  checkChatModel(entry.model, clientRequest);
  checkInputUrls({ egress }, clientRequest);
  checkTextLength(clientRequest);
  const supports = (family: string, api: UpstreamMapping['api'], vendor: string | undefined) =>
    supportsOf(adapters, family, api, vendor);
  const upstream = Object.entries(entry.private.upstream);
  // The hold does not include thoughts that no provider gets.
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

/** Providers fetch these URLs. With a private address a client would reach the network of a self-hosted provider. */
function checkInputUrls(deps: Pick<Deps, 'egress'>, { messages }: ChatRequest): void {
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
  /** Writes the answer in the client's dialect. `broken` is the error that ended a streamed answer early. */
  render: (answer: ChatAnswered, broken: GatewayError | null) => { body: string };
  /** Seals a body for storage; null if it is too large. */
  sealAnswer: (body: string, answer: Pick<ChatAnswered, 'leftOut'>) => string | null;
  onRate: (rate: RateState) => void;
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
