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

/** Admits one chat as `admitTogether` does. For a chat that has no idempotency key and is sent for the first time. */
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

/** Admits a batch of chats in one call. Returns their verdicts in the order of `members`. */
export function admitTogether(
  database: Pick<Statements, 'call'>,
  members: ChatAdmissionRequest[],
  { sender, batch, again, positions }: RateBatch,
): Promise<AdmissionRow[]> {
  const accounts = new Map<string, BatchDemand>();
  const keys = new Map<string, BatchDemand>();
  /** For each member, the index of its account and of its key. */
  const accountOf: number[] = [];
  const keyOf: number[] = [];
  for (const [index, { projectId, keyId, credits, rpm }] of members.entries()) {
    accountOf.push(addDemand(accounts, projectId, credits).index);
    const key = addDemand(keys, keyId, credits);
    keyOf.push(key.index);
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

/** What a batch asks of one key, or of the account of one project. */
interface BatchDemand {
  /** Among the accounts or the keys of the batch, from 1 as in SQL. */
  index: number;
  credits: number;
  chats: number;
  rpm: number | null;
  /** How many of them count against `rpm`: the highest position. */
  rated: number;
}

function addDemand(all: Map<string, BatchDemand>, id: string, credits: number): BatchDemand {
  const demand = all.get(id) ?? { index: all.size + 1, credits: 0, chats: 0, rpm: null, rated: 0 };
  all.set(id, demand);
  demand.credits += credits;
  demand.chats += 1;
  return demand;
}
