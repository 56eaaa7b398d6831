import type { InferEntity } from '@mikro-orm/postgresql';
import type { AlarmName } from '../../domain/operators/alarm.ts';
import type { ChannelLimitValues } from './channel-calls.ts';
import type { Statements } from '../database.ts';
import type { Channel } from '../entities/channel.ts';

/** Seals the credentials of a channel, each for one row: the channel's own for the first, its own for every other. */
export interface CredentialSealing {
  seal(secret: string, rowId: string): string;
  /** Seals a value for another row. */
  move(sealed: string, from: string, to: string): string;
  /** Whether a sealed value is this secret. */
  holds(sealed: string, rowId: string, secret: string): boolean;
}

/** What an operator changes about the credentials of a channel. */
export interface CredentialChange {
  add?: { id: string; secret: string; last4: string };
  /** The id or the last characters. */
  remove?: string;
  /** The limits of one credential, named in the same way, or of `all`. */
  limit?: { named: string; limits: Partial<ChannelLimitValues> };
}

/** A change of a channel's credentials that cannot be made. It ends the transaction. */
export class CredentialRefused extends Error {
  readonly why: 'unknown' | 'ambiguous' | 'last' | 'twice';

  constructor(why: CredentialRefused['why']) {
    super(`refused: ${why}`);
    this.why = why;
  }
}

interface Member {
  id: string;
  /** Null for the first one. */
  sealed: string | null;
  last4: string | null;
}

type ChannelRecordRow = InferEntity<typeof Channel>;

/**
 * Adds and removes credentials of a channel whose row is locked, and changes the row where its first credential changes. Returns the ids
 * before and after. Throws `CredentialRefused`.
 */
export async function changeCredentials(
  inside: Statements,
  row: ChannelRecordRow,
  { add, remove, limit }: CredentialChange,
  sealing: CredentialSealing,
): Promise<{ before: string[]; after: string[]; limited: string[] }> {
  const members = await listMembers(inside, row);
  const ids = members.map(({ id }) => id);
  if (remove !== undefined) {
    const removed = await removeNamedMember(inside, row, { members, remove }, sealing);
    members.splice(members.indexOf(removed), 1);
  }
  if (add) {
    const isHeld = ({ id, sealed }: Member): boolean =>
      id === row.credentialId || sealed === null
        ? sealing.holds(row.credential, row.id, add.secret)
        : sealing.holds(sealed, id, add.secret);
    if (members.some(isHeld)) throw new CredentialRefused('twice');
    await addMember(inside, row, add, sealing);
  }
  const limited = limit ? await limitMembers(inside, add ? [...members, { ...add, sealed: '' }] : members, limit) : [];
  return { limited, before: ids, after: [...members.map(({ id }) => id), ...(add ? [add.id] : [])] };
}

/** The credentials of a channel, the oldest first. A channel of an earlier release gets the row of its first one here. */
async function listMembers(inside: Statements, { id: channelId, credentialId }: ChannelRecordRow): Promise<Member[]> {
  await noteFirstCredential(inside, { channelId, credentialId, last4: null });
  return inside.query<Member>(
    'credentials-of-channel',
    `select id, credential as sealed, last4 from channel_credential
     where channel_id = $1 and (credential is not null or id = $2) order by created_at, id`,
    [channelId, credentialId],
  );
}

/** Writes the row of a channel's first credential, whose secret stands in the channel's row. Its last characters stay if none are given. */
export async function noteFirstCredential(
  inside: Statements,
  { channelId, credentialId, last4 }: CredentialOf & { last4: string | null },
): Promise<void> {
  await inside.query(
    'note-first-credential',
    `insert into channel_credential (id, channel_id, last4) values ($1, $2, $3)
     on conflict (id) do update set last4 = excluded.last4 where excluded.last4 is not null`,
    [credentialId, channelId, last4],
  );
}

/** A credential of a channel, by the ids of both. */
interface CredentialOf {
  channelId: string;
  credentialId: string;
}

/** Keeps one credential out of the draw for `seconds`. A longer cool-down that is already set stays. */
export async function coolDownCredential(
  database: Statements,
  { channelId, credentialId, seconds, reason }: CredentialOf & { seconds: number; reason: string },
): Promise<void> {
  await database.query(
    'cool-down-credential',
    `insert into channel_credential (id, channel_id, unavailable_until, reason, since)
     select $2, c.id, clock_timestamp() + make_interval(secs => $3), $4, clock_timestamp() from channel c
     where c.id = $1 and (c.credential_id = $2 or exists (select from channel_credential k where k.id = $2))
     on conflict (id) do update set updated_at = clock_timestamp(), reason = excluded.reason,
       since = case when channel_credential.unavailable_until > clock_timestamp() then channel_credential.since else excluded.since end,
       unavailable_until = greatest(channel_credential.unavailable_until, excluded.unavailable_until)`,
    [channelId, credentialId, seconds, reason],
  );
}

/** Raises or, without an alarm, ends the alarm of a credential; true if that changed something. */
export const setCredentialAlarm = (
  database: Statements,
  { credentialId, alarm }: { credentialId: string; alarm: AlarmName | null },
): Promise<boolean> =>
  database.returnsRow(
    'set-credential-alarm',
    `update channel_credential set alarm = $2, alarm_at = case when $2::text is not null then clock_timestamp() end,
       updated_at = clock_timestamp()
     where id = $1 and alarm is distinct from $2 returning id`,
    [credentialId, alarm],
  );

/** Notes the last characters of a credential, which a process of an earlier release did not. */
export async function noteLastCharacters(
  database: Statements,
  { channelId, credentialId, last4 }: CredentialOf & { last4: string },
): Promise<void> {
  await database.query(
    'note-last-characters',
    `insert into channel_credential (id, channel_id, last4) select $2, c.id, $3 from channel c where c.id = $1 and c.credential_id = $2
     on conflict (id) do update set last4 = excluded.last4`,
    [channelId, credentialId, last4],
  );
}

/** Ends the cool-downs and alarms of a channel's credentials, or of one. */
export async function resetCredentials(
  inside: Statements,
  { channelId, credentialId }: { channelId: string; credentialId: string | null },
): Promise<void> {
  await inside.query(
    'reset-credentials',
    `update channel_credential set unavailable_until = null, reason = null, since = null, alarm = null, alarm_at = null,
       updated_at = clock_timestamp()
     where channel_id = $1 and coalesce(id = $2, true)`,
    [channelId, credentialId],
  );
}

async function addMember(
  inside: Statements,
  row: ChannelRecordRow,
  { id, secret, last4 }: NonNullable<CredentialChange['add']>,
  sealing: CredentialSealing,
): Promise<void> {
  await inside.query(
    'add-credential',
    'insert into channel_credential (id, channel_id, credential, last4) values ($1, $2, $3, $4)',
    [id, row.id, sealing.seal(secret, id), last4],
  );
  row.pooledAt ??= new Date();
  // What the channel as a whole waits for was said to its only credential.
  await inside.query(
    'rest-credential-alone',
    `with ended as (
       delete from channel_health h where h.channel_id = $1 and h.model_id = '*' and h.trips = 0 and h.failures = 0
         and h.reason in ('rate_limit', 'account') returning h.*
     )
     update channel_credential k set unavailable_until = e.unavailable_until, reason = e.reason, since = e.updated_at,
       alarm = e.alarm, alarm_at = e.alarm_at
     from ended e where k.id = $2`,
    [row.id, row.credentialId],
  );
}

async function removeNamedMember(
  inside: Statements,
  row: ChannelRecordRow,
  { members, remove }: { members: readonly Member[]; remove: string },
  sealing: CredentialSealing,
): Promise<Member> {
  const named = memberNamed(members, remove);
  const next = members.find(({ id }) => id !== named.id);
  if (!next) throw new CredentialRefused('last');
  if (named.sealed === null && next.sealed !== null) {
    // Every release reads the credential of the channel's own row, so another one moves there.
    row.credential = sealing.move(next.sealed, next.id, row.id);
    row.credentialId = next.id;
    await inside.query('move-credential', 'update channel_credential set credential = null where id = $1', [next.id]);
  }
  await inside.query('remove-credential', 'delete from channel_credential where id = $1', [named.id]);
  return named;
}

function memberNamed<T extends Pick<Member, 'id' | 'last4'>>(members: readonly T[], name: string): T {
  const [named, ...others] = members.filter(({ id, last4 }) => id === name || last4 === name);
  if (!named) throw new CredentialRefused('unknown');
  if (others.length > 0) throw new CredentialRefused('ambiguous');
  return named;
}

/** Changes the limits of one credential or of all. Returns their ids. */
async function limitMembers(
  inside: Statements,
  members: readonly Pick<Member, 'id' | 'last4'>[],
  { named, limits }: NonNullable<CredentialChange['limit']>,
): Promise<string[]> {
  const ids = (named === 'all' ? members : [memberNamed(members, named)]).map(({ id }) => id);
  const changedName = ([name, value]: [string, number | null | undefined]) => value !== undefined && name;
  const names = Object.entries(limits).map(changedName).filter(Boolean);
  await inside.query(
    'limit-credentials',
    `update channel_credential set rpm = case when 'rpm' = any ($2) then $3 else rpm end,
       tpm = case when 'tpm' = any ($2) then $4 else tpm end, parallel = case when 'parallel' = any ($2) then $5 else parallel end,
       updated_at = clock_timestamp()
     where id = any ($1)`,
    [ids, names, limits.rpm ?? null, limits.tpm ?? null, limits.parallel ?? null],
  );
  return ids;
}
