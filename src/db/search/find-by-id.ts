import type { Statements } from '../database.ts';

/** What an operator can search for. */
export const foundTypes = [
  'project',
  'key',
  'model',
  'channel',
  'plan',
  'task',
  'chat',
  'delivery',
  'file',
  'ledger_entry',
  'job_run',
  'admin_token',
  'operator',
  'silence',
  'request',
] as const;
export type FoundType = (typeof foundTypes)[number];

/** One thing that a search found. */
export interface Found {
  type: FoundType;
  id: string;
  /** What people call it: its own name, or else the model or the task that it is about. */
  name: string;
  /** The id or the name of the thing whose page shows it. */
  shownBy: string;
}

/** More than one thing has the beginning of an id only if the beginning is short. */
const foundMax = 10;
/** The last of the characters of which ids consist. */
const highestIdEnd = 'z'.repeat(26);

/** What has this id, or an id that begins with this text, in any order. Null if the text does not begin as an id does. */
export async function findById(database: Statements, text: string): Promise<Found[] | null> {
  const prefix = text.slice(0, Math.max(0, text.indexOf('_')));
  if (!isSearched(prefix)) return null;
  return database.query<Found>(`search-${prefix}`, `${readsByPrefix[prefix]} limit ${foundMax}`, [
    text,
    text + highestIdEnd,
  ]);
}

const isSearched = (prefix: string): prefix is keyof typeof readsByPrefix => Object.hasOwn(readsByPrefix, prefix);

/**
 * Reads of things by their ids, by the prefix of the ids. Each id has one member of an index. `$1` and `$2` are the first and the last id,
 * so that the beginning of an id finds it too.
 */
const readsByPrefix = {
  prj: `select 'project' as type, id, name, id as shown_by from project where ${between('id')}`,
  key: `select 'key' as type, id, name, id as shown_by from api_key where ${between('id')}`,
  sec: `select 'key' as type, k.id, k.name, k.id as shown_by
     from api_key_secret s cross join lateral (select * from api_key k where k.id = s.key_id limit 1) k where ${between('s.id')}`,
  chn: `select 'channel' as type, id, name, id as shown_by from channel where ${between('id')}`,
  crd: `select 'channel' as type, c.id, c.name, c.id as shown_by
     from channel_credential x cross join lateral (select * from channel c where c.id = x.channel_id limit 1) c where ${between('x.id')}`,
  pln: `select 'plan' as type, id, name, name as shown_by from plan where ${between('id')}`,
  task: `select 'task' as type, id, model_id as name, id as shown_by from task where ${between('id')}`,
  // A chat, or the request that created a task.
  req: `select 'chat' as type, request_id as id, model_id as name, request_id as shown_by from ledger_entry
     where kind in ('settle', 'refund') and ${between('request_id')}
     union all select 'chat' as type, id, model_id as name, id as shown_by from hold where kind = 'chat' and ${between('id')}
     union all select 'task' as type, id, model_id as name, id as shown_by from task where ${between('request_id')}`,
  // A call to a provider.
  att: `select case when request_id like 'task\\_%' then 'task' else 'chat' end as type, request_id as id, coalesce(model_id, channel_name) as name,
       request_id as shown_by from attempt where ${between('id')}`,
  dlv: `select 'delivery' as type, id, task_id as name, task_id as shown_by from delivery where ${between('id')}`,
  // The webhook-id of a callback, or of what told a project that its credits are low.
  evt: `select 'delivery' as type, id, task_id as name, task_id as shown_by from delivery where ${between('event_id')}
     union all select 'project' as type, e.project_id as id, p.name, e.project_id as shown_by
     from balance_event e cross join lateral (select * from project p where p.id = e.project_id limit 1) p where ${between('e.id')}`,
  file: `select 'file' as type, id, purpose || ', ' || mime_type as name, coalesce(task_id, project_id) as shown_by from file where ${between('id')}`,
  run: `select 'job_run' as type, id, name, name as shown_by from job_run where ${between('id')}`,
  atk: `select 'admin_token' as type, id, name, id as shown_by from admin_token where ${between('id')}`,
  opr: `select 'operator' as type, id, name, id as shown_by from admin_operator where ${between('id')}`,
  sil: `select 'silence' as type, id, name, id as shown_by from alarm_silence where ${between('id')}`,
};

function between(column: string): string {
  return `${column} >= $1 and ${column} <= $2`;
}

/** The ledger entry of this number; null if there is none. */
export const findLedgerEntry = (database: Statements, id: string): Promise<Found | null> =>
  database.first(
    'search-entry',
    `select 'ledger_entry' as type, 'entry_' || id as id, kind as name, coalesce(request_id, project_id) as shown_by from ledger_entry where id = $1::bigint`,
    [id],
  );

/** The tasks whose job has this id at its provider. */
export const findByProviderJob = (database: Statements, id: string): Promise<Found[]> =>
  database.query(
    'search-provider-job',
    // The expression of attempt_provider_job_idx.
    `select 'task' as type, a.request_id as id, coalesce(a.model_id, a.channel_name) as name, a.request_id as shown_by from attempt a
     where a.operation is not null and coalesce(a.operation ->> 'task_id', a.operation ->> 'request_id', a.operation ->> 'prediction_id',
       a.operation ->> 'interaction_id', a.operation ->> 'video_id', a.operation ->> 'name') = $1 limit ${foundMax}`,
    [id],
  );
