import type { Database } from '../database.ts';

/** What a channel, or one of its credentials, may be asked for. Null: as much as its clients want. */
export interface ChannelLimitValues {
  /** Requests in a minute. */
  rpm: number | null;
  /** Tokens in a minute. */
  tpm: number | null;
  /** Calls at the same time. */
  parallel: number | null;
}

/** A call that counts against the limits of its channel. */
export interface CountedCall {
  callId: string;
  /** The tokens that it is likely to have; 0 for a task. */
  tokens: number;
}

/** Counts a call if the channel and one of these credentials, in this order, are not at a limit (`claim_channel_call.sql`). */
export async function claimChannelCall(
  database: Database,
  { callId, tokens }: CountedCall,
  { channelId, credentialIds }: { channelId: string; credentialIds: readonly string[] },
  leaseSeconds: number,
): Promise<{ credentialId: string } | { retryAfterSeconds: number }> {
  const [row] = await database.call<{ credentialId: string | null; retryAfter: number | null }>('claim_channel_call', [
    callId,
    channelId,
    credentialIds,
    tokens,
    leaseSeconds,
  ]);
  return row?.credentialId ? { credentialId: row.credentialId } : { retryAfterSeconds: row?.retryAfter ?? 1 };
}

/** Keeps running calls from expiring. */
export async function renewChannelCalls(
  database: Database,
  callIds: readonly string[],
  leaseSeconds: number,
): Promise<void> {
  await database.query(
    'renew-channel-calls',
    `update channel_call set expires_at = clock_timestamp() + make_interval(secs => $2) where id = any ($1) and expires_at is not null`,
    [callIds, leaseSeconds],
  );
}

/**
 * Ends a call. `tokens` replaces what was counted for it; null leaves that. `undo`: nothing was sent, so that it does not count at all.
 * Called again, it changes nothing.
 */
export async function endChannelCall(
  database: Database,
  callId: string,
  { tokens, undo }: { tokens: number | null; undo: boolean },
): Promise<void> {
  await database.query(
    'end-channel-call',
    `with ended as (
       delete from channel_call where id = $1 returning *
     )
     update channel_use u set requests = u.requests - case when $3 then 1 else 0 end,
       tokens = greatest(0, u.tokens + case when $3 then 0 else coalesce($2::bigint, e.tokens) end - e.tokens)
     from ended e where u.subject_id in (e.channel_id, e.credential_id) and u.second = e.second`,
    [callId, tokens, undo],
  );
}

/** Lets a call run until the attempt of its task has an outcome, whichever process works on it. */
export async function tieChannelCall(database: Database, callId: string, attemptId: string): Promise<void> {
  await database.query('tie-channel-call', 'update channel_call set id = $2, expires_at = null where id = $1', [
    callId,
    attemptId,
  ]);
}
