import type { Database } from '../database.ts';

/** What became of an imported project or key here, without what the imports themselves wrote. */
export interface ImportSpent {
  kind: 'project' | 'key';
  externalId: string;
  /** Of the project, or the project of the key. */
  projectId: string;
  /** Charged, less what was given back. */
  spent: bigint;
  /** Paid in here, less what was taken back, and what has ended. 0 of a key. */
  added: bigint;
  /** The ids there of codes that the project redeemed here. */
  redeemed: string[];
}

/** The projects and keys of a source for which there is something to say. */
export async function listImportSpent(database: Database, source: string): Promise<ImportSpent[]> {
  const rows = await database.query<Omit<ImportSpent, 'spent' | 'added'> & { spent: string; added: string }>(
    'list-import-spent',
    `with moved as (
       select i.kind, i.external_id, e.project_id, e.kind in ('settle', 'adjust') as is_spent, e.credits
       from import_item i join ledger_entry e on e.project_id = i.internal_id
       where i.source = $1 and i.kind = 'project' and e.reference is distinct from 'import:' || $1 || ':' || i.external_id
         and not starts_with(coalesce(e.reference, ''), 'import:' || $1 || ':' || i.external_id || ':')
       union all
       select i.kind, i.external_id, e.project_id, true, e.credits
       from import_item i join ledger_entry e on e.key_id = i.internal_id
       where i.source = $1 and i.kind = 'key' and e.kind in ('settle', 'adjust')
     )
     select kind, external_id, project_id, coalesce(-sum(credits) filter (where is_spent), 0)::text as spent,
       coalesce(sum(credits) filter (where not is_spent), 0)::text as added,
       case kind when 'project' then array(select g.external_id from held_grant g where g.source = $1 and g.project_id = moved.project_id order by 1)
         else '{}' end as redeemed
     from moved group by kind, external_id, project_id
     having sum(abs(credits)) > 0 order by kind desc, external_id`,
    [source],
  );
  return rows.map((row) => ({ ...row, spent: BigInt(row.spent), added: BigInt(row.added) }));
}
