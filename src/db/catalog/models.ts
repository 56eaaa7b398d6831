import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { catalogChanges } from '../../domain/catalog/catalog-changes.ts';
import type { Database, Query, Statements } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';
import { unixSeconds } from '../unix-seconds.ts';

/** The applied catalog in its own order. It was checked before it was written. */
export async function listModels(database: Statements): Promise<CatalogEntry[]> {
  return database.query<CatalogEntry>('list-models', 'select entry as model, private from model order by position');
}

/** An entry with the time at which it came into the catalog, in unix seconds, and a text that changes with it. */
export type DatedEntry = CatalogEntry & { createdAt: number; changedAt: string };

export const listDatedModels = (database: Statements): Promise<DatedEntry[]> =>
  database.query<DatedEntry>(
    'list-dated-models',
    `select entry as model, private, ${unixSeconds('created_at')} as created_at, updated_at::text as changed_at from model order by position`,
  );

/** The ids of the models that an applied catalog added, changed and removed. */
export interface ReplacedModels {
  added: string[];
  changed: string[];
  removed: string[];
}

/**
 * Makes the catalog exactly the entries that `next` makes of the present ones. One write follows another, so `next` sees what every earlier write
 * left; what it throws changes nothing.
 */
export const replaceCatalog = (
  database: Database,
  {
    next,
    actor,
    action,
    subject,
  }: {
    next: (earlier: CatalogEntry[]) => CatalogEntry[];
    actor: string;
    action: 'catalog.apply' | 'catalog.set';
    subject: string;
  },
): Promise<ReplacedModels> =>
  database.transaction('begin', async (query, inside) => {
    await query('lock-models', 'lock table model in share row exclusive mode');
    const earlier = await listModels(inside);
    const entries = next(earlier);
    const replaced = await replaceModels(query, entries);
    if (replaced.added.length + replaced.changed.length + replaced.removed.length > 0) {
      const { before, after, membersOmitted } = catalogChanges(earlier, entries);
      await recordAudit(inside, {
        actor,
        action,
        subject,
        before,
        after,
        detail: { ...replaced, ...(membersOmitted > 0 && { membersOmitted }) },
      });
    }
    return replaced;
  });

/**
 * Makes the catalog exactly these entries, in the transaction of `query`. A success at a channel under a provider's name that an entry no
 * longer has says nothing about the new name, so it is forgotten. Returns what changed.
 */
export async function replaceModels(query: Query, entries: CatalogEntry[]): Promise<ReplacedModels> {
  const rows = await query<{ id: string; change: 'added' | 'changed' | 'removed' }>(
    'replace-models',
    `with input as (
       select m->'entry'->>'id' as id, ord as position, m->'entry' as entry, m->'private' as private
       from jsonb_array_elements($1::jsonb) with ordinality as g (m, ord)
     ), removed as (
       delete from model where id not in (select id from input) returning id
     ), upserted as (
       insert into model (id, position, entry, private) select id, position, entry, private from input
       on conflict (id) do update set position = excluded.position, entry = excluded.entry,
         private = excluded.private, updated_at = clock_timestamp()
         where (model.position, model.entry, model.private) is distinct from (excluded.position, excluded.entry, excluded.private)
       returning id, xmax = 0 as inserted
     ), renamed as (
       update channel_mapping_state s set succeeded_at = null
       from channel c, model m, input g
       where c.id = s.channel_id and m.id = s.model_id and g.id = m.id and s.succeeded_at is not null
         and (m.private #> array['upstream', c.adapter, 'model'], m.private #> array['upstream', c.adapter, 'model_by'])
           is distinct from (g.private #> array['upstream', c.adapter, 'model'], g.private #> array['upstream', c.adapter, 'model_by'])
     )
     select id, case when inserted then 'added' else 'changed' end as change from upserted
     union all select id, 'removed' from removed`,
    [JSON.stringify(entries.map((entry) => ({ entry: entry.model, private: entry.private })))],
  );
  const of = (change: string) => rows.filter((row) => row.change === change).map(({ id }) => id);
  return { added: of('added'), changed: of('changed'), removed: of('removed') };
}
