import { completeChat } from '../../commands/chat/complete-chat.ts';
import { prepareChat, type ChatDeps, type PreparedChat } from '../../commands/chat/prepare-chat.ts';
import { findModelFor } from '../../commands/catalog/find-model.ts';
import { findStoredAnswer, sealAnswer, type StoredAnswer } from '../../commands/chat/idempotent-chat.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { ChatRequest } from '../../domain/chat.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import type { ChatAnswer } from '../dialects/chat-answer.ts';
import { openaiCompletion } from '../dialects/openai-chat-reply.ts';
import { readOpenaiChat } from '../dialects/openai-chat-request.ts';
import { readIdempotencyKey } from '../idempotency-key.ts';
import { countRate, setRateHeaders, type RateDeps } from '../rate-limits/count-rate.ts';

type Stored = Parameters<typeof findStoredAnswer>[0];
export type ChatRouteDeps = ChatDeps & RateDeps & Stored;

/** How one dialect reads requests and writes answers. */
export interface ChatDialect {
  /** The route's template, part of the scope of an Idempotency-Key and of the fingerprint. */
  route: string;
  read(body: JsonObject): ChatRequest;
  /** Renames the field of a refusal by the shared checks to this dialect's name of it. */
  inItsWords?(error: unknown): unknown;
  write(answer: ChatAnswer): JsonObject;
}

/** `POST /api/v1/chat/completions` (spec §4.2). */
export const chatCompletions = (deps: ChatRouteDeps): AppMiddleware => {
  const dialect: ChatDialect = { route: '/api/v1/chat/completions', read: readOpenaiChat, write: openaiCompletion };
  return async (ctx) => {
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = await answerChat(deps, ctx, dialect);
  };
};

/**
 * Answers one chat in a dialect; returns the body as text. Order: rate, idempotency look-up, validation, admission. Without an
 * Idempotency-Key the admission counts the rate in the same call; middleware counts a request that is refused earlier.
 */
export async function answerChat(deps: ChatRouteDeps, ctx: AppContext, dialect: ChatDialect): Promise<string> {
  const key = keyOf(ctx);
  const body = ctx.request.body ?? {};
  const idempotencyKey = readIdempotencyKey(ctx);
  const idempotency =
    idempotencyKey === null
      ? null
      : {
          route: dialect.route,
          key: idempotencyKey,
          fingerprint: sha256Hex(canonicalJson({ method: 'POST', path: ctx.path, body })),
        };
  const replayed = async (): Promise<StoredAnswer | null> =>
    idempotency && findStoredAnswer(deps, { projectId: key.projectId, ...idempotency });
  if (idempotency) {
    await countRate(deps, ctx);
    const stored = await replayed();
    if (stored !== null) return asReplay(ctx, stored);
  }
  deps.retryBudget.note();
  const prepared = await prepare(deps, ctx, dialect, body);
  const { requestId } = ctx.state;
  const completed = await completeChat(deps, {
    requestId,
    key,
    prepared,
    rateCounted: ctx.state.rateCounted === true,
    idempotency,
    onRate: (rate) => {
      ctx.state.rateCounted = true;
      setRateHeaders(ctx, key.rpm ?? 0, rate);
    },
    sealAnswer: (text) => sealAnswer(deps, requestId, text),
    render: (answer) => ({
      body: JSON.stringify(
        dialect.write({
          ...answer,
          id: `chatcmpl-${requestId.replace(/^req_/, '')}`,
          created: Math.floor(Date.now() / 1000),
          model: prepared.entry.model.id,
        }),
      ),
    }),
  });
  if (completed === 'replay') {
    const stored = await replayed();
    // The key expired between the two reads: sent again, it is a new request.
    if (!stored) throw new GatewayError('idempotency_in_progress', { retryAfterSeconds: 1 });
    return asReplay(ctx, stored);
  }
  tellCost(ctx, completed.answered);
  return completed.body;
}

async function prepare(
  deps: ChatRouteDeps,
  ctx: AppContext,
  dialect: ChatDialect,
  body: JsonObject,
): Promise<PreparedChat> {
  const request = dialect.read(body);
  const entry = await findModelFor(deps, request.model, keyOf(ctx));
  ctx.state.modelId = entry.model.id;
  try {
    return prepareChat(deps, entry, request);
  } catch (error) {
    throw dialect.inItsWords?.(error) ?? error;
  }
}

/** Replays the stored body, with the credits and attempts of the original answer: they were charged once. */
function asReplay(ctx: AppContext, stored: StoredAnswer): string {
  ctx.set('Idempotent-Replayed', 'true');
  tellCost(ctx, stored);
  return stored.body;
}

function tellCost(ctx: AppContext, { credits, attempts }: { credits: number; attempts: number }): void {
  ctx.set('x-tollgate-credits', String(credits));
  ctx.set('x-tollgate-attempts', String(attempts));
}
