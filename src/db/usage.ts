import type { UsageGroup } from '../domain/usage-group.ts';
import type { Database } from './database.ts';

export interface UsageRange {
  projectId: string;
  keyId?: string | undefined;
  /** Unix seconds: from this one on, and before the other. */
  from: number;
  to: number;
  /** A time zone of the database, by which days are cut. */
  timeZone: string;
  groups: readonly UsageGroup[];
}

/** What the requests that ended in a range came to. What is not grouped by is null. */
export interface Usage {
  /** `YYYY-MM-DD` */
  day: string | null;
  model: string | null;
  keyId: string | null;
  requests: number;
  succeeded: number;
  failed: number;
  /** Charged, less what was given back in the range. */
  credits: number;
  inputTokens: number;
  outputTokens: number;
}

/**
 * Adds up the entries of a project in a range of time, and of all of them together as the last row. It reads only the entries of this range, by
 * their index, so it is exact at the time of the call. Returns at most `rowsMax` rows beside that, and one more where there are more.
 */
export function sumUsage(
  database: Database,
  { projectId, keyId, from, to, timeZone, groups }: UsageRange,
  rowsMax: number,
): Promise<(Usage & { isTotal: boolean })[]> {
  const by = (group: UsageGroup, sql: string): string => (groups.includes(group) ? sql : 'null::text');
  return database.query(
    `sum-usage-${groups.join('-')}${keyId === undefined ? '' : '-of-key'}`,
    `with entry as (
       select ${by('day', `to_char(e.created_at at time zone $4, 'YYYY-MM-DD')`)} as day, ${by('model', 'e.model_id')} as model,
         ${by('key', 'e.key_id')} as key_id, e.kind, e.credits, e.input_tokens, e.output_tokens
       from ledger_entry e
       where e.project_id = $1 and e.created_at >= to_timestamp($2) and e.created_at < to_timestamp($3)
         and e.kind in ('settle', 'refund', 'adjust') and $4::text is not null ${keyId === undefined ? '' : 'and e.key_id = $6'}
     ), summed as (
       select grouping(day, model, key_id) > 0 as is_total, day, model, key_id, count(*) filter (where kind <> 'adjust') as requests,
         count(*) filter (where kind = 'settle') as succeeded, count(*) filter (where kind = 'refund') as failed,
         coalesce(-sum(credits), 0)::bigint as credits, coalesce(sum(input_tokens), 0)::bigint as input_tokens,
         coalesce(sum(output_tokens), 0)::bigint as output_tokens
       from entry group by grouping sets ((day, model, key_id), ())
     )
     select * from summed order by is_total desc, day desc, model, key_id limit $5`,
    [projectId, from, to, timeZone, rowsMax + 2, ...(keyId === undefined ? [] : [keyId])],
  );
}
