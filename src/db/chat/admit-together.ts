import { toArrays } from '../array-literal.ts';
import type { Statements } from '../database.ts';
import type { RateBatch } from '../projects/rate-batches.ts';
import type { ChatAdmissionRequest } from './chat-facts.ts';

/** A verdict as `admit_chats.sql` returns it. */
export interface AdmissionRow {
  verdict: string;
  rateRemaining: number | null;
  rateReset: number | null;
  retryAfter: number | null;
}

/** Admits a chat without an idempotency key that was not sent before. The verdict and the rows are those of `admitTogether`. */
export const admitAlone = (
  database: Pick<Statements, 'call'>,
  chat: ChatAdmissionRequest,
  { sender, batch }: RateBatch,
): Promise<AdmissionRow[]> =>
  database.call<AdmissionRow>('admit_chats_alone', [
    chat.projectId,
    chat.keyId,
    chat.rpm,
    chat.requestId,
    chat.modelId,
    chat.credits,
    chat.holdSeconds,
    chat.channelId,
    chat.channelName,
    sender,
    batch,
  ]);

/** Admits a batch of chats in one call. */
export function admitTogether(
  database: Pick<Statements, 'call'>,
  members: ChatAdmissionRequest[],
  { sender, batch, again, positions }: RateBatch,
): Promise<AdmissionRow[]> {
  const accounts = new Map<string, BatchDemand>();
  const keys = new Map<string, BatchDemand>();
  const accountOf: number[] = [];
  const keyOf: number[] = [];
  for (const [index, { projectId, keyId, credits, rpm }] of members.entries()) {
    accountOf.push(ask(accounts, projectId, credits).at);
    const key = ask(keys, keyId, credits);
    keyOf.push(key.at);
    key.rpm ??= rpm;
    key.rated = Math.max(key.rated, positions[index] ?? 0);
  }
  const keyDemands = [...keys.values()];
  const column = <T>(value: (member: ChatAdmissionRequest) => T): T[] => members.map(value);
  return database.call<AdmissionRow>(
    'admit_chats',
    toArrays([
      [...accounts.keys()],
      [...accounts.values()].map(({ credits }) => credits),
      [...keys.keys()],
      keyDemands.map(({ credits }) => credits),
      keyDemands.map(({ chats }) => chats),
      keyDemands.map(({ rpm }) => rpm),
      keyDemands.map(({ rpm, rated }) => (rpm === null ? null : rated)),
      accountOf,
      keyOf,
      positions,
      column(({ requestId }) => requestId),
      column(({ modelId }) => modelId),
      column(({ credits }) => credits),
      column(({ holdSeconds }) => holdSeconds),
      column(({ channelId }) => channelId),
      column(({ channelName }) => channelName),
      column(({ idempotency }) => idempotency?.route),
      column(({ idempotency }) => idempotency?.key),
      column(({ idempotency }) => idempotency?.fingerprint),
      column(({ idempotency }) => idempotency?.keptSeconds),
      sender,
      batch,
      again,
    ]),
  );
}

/** What a batch asks of one account or key. */
interface BatchDemand {
  /** Its index in the batch, from 1 as in SQL. */
  at: number;
  credits: number;
  chats: number;
  rpm: number | null;
  /** Requests that count against `rpm`. */
  rated: number;
}

function ask(all: Map<string, BatchDemand>, id: string, credits: number): BatchDemand {
  const demand = all.get(id) ?? { at: all.size + 1, credits: 0, chats: 0, rpm: null, rated: 0 };
  all.set(id, demand);
  demand.credits += credits;
  demand.chats += 1;
  return demand;
}
