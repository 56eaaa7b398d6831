import type { ImportedKey, ImportedOwner } from '../../domain/imports/imported.ts';
import type { JsonValue } from '../../domain/json.ts';
import type { Database, Statements } from '../database.ts';
import { recordAudits } from '../operators/audit.ts';

export type ImportKind = 'project' | 'key' | 'channel';

/** What was imported, as it was there. */
export interface ImportItem {
  kind: ImportKind;
  externalId: string;
  internalId: string;
  credits: number | null;
  settings: Record<string, JsonValue>;
}

/** All that earlier imports of a source made. */
export const listImportItems = (database: Database, source: string): Promise<ImportItem[]> =>
  database.query<ImportItem>(
    'list-import-items',
    'select kind, external_id, internal_id, credits, settings from import_item where source = $1',
    [source],
  );

/** Lets PostgreSQL plan for what an import has added. Throws nothing, because the import is whole without it. */
export const analyzeImported = (database: Database): Promise<void> =>
  database.value<null>('analyze_imported', []).then(
    () => undefined,
    () => undefined,
  );

/** A secret of a key, as it is stored: under a pepper, or as its SHA-256 until its first use. */
export interface StoredKeySecret {
  id: string;
  keyId: string;
  /** In hexadecimal. */
  digest: string;
  pepperId: string;
  prefix: string;
  last4: string;
  checksummed: boolean;
}

/** The digests, in hexadecimal, that a key here has already. */
export async function findStoredDigests(database: Database, digests: readonly string[]): Promise<Set<string>> {
  const rows = await database.query<{ digest: string }>(
    'find-stored-digests',
    `select encode(digest, 'hex') as digest from api_key_secret
     where digest = any (array(select decode(each, 'hex') from unnest($1::text[]) each))`,
    [digests],
  );
  return new Set(rows.map(({ digest }) => digest));
}

export interface NewOwner {
  owner: ImportedOwner;
  projectId: string;
  /** Sealed. */
  callbackSecret: string;
  settings: object;
}

export interface NewImportedKey {
  key: ImportedKey;
  keyId: string;
  projectId: string;
  expiresAt: Date | null;
  rpm: number | null;
  inFlightMax: number | null;
  settings: object;
  secrets: StoredKeySecret[];
}

/**
 * Adds projects with their credits and keys, all in one transaction, with an audit entry for each. What another run has added in the meantime
 * is left out. Returns how many were added.
 */
export const insertImported = (
  database: Database,
  { source, actor, owners, keys }: { source: string; actor: string; owners: NewOwner[]; keys: NewImportedKey[] },
): Promise<{ projects: number; keys: number }> =>
  database.transaction('begin', async (_query, inside) => {
    const added = await addItems(inside, source, 'project', owners.map(itemOfOwner));
    const own = owners.filter(({ owner }) => added.has(owner.id));
    await addProjects(inside, own);
    await addFirstCredits(inside, source, own);
    const addedKeys = await addItems(inside, source, 'key', keys.map(itemOfKey));
    // A run at the same time may have made the project of a key under another id.
    const others = new Set(owners.filter((one) => !own.includes(one)).map(({ projectId }) => projectId));
    const ownKeys = keys.filter(({ key, projectId }) => addedKeys.has(key.id) && !others.has(projectId));
    await addKeys(inside, ownKeys);
    await addAudit(inside, { source, actor, owners: own, keys: ownKeys });
    return { projects: own.length, keys: ownKeys.length };
  });

interface NewItem {
  external_id: string;
  internal_id: string;
  credits: number | null;
  settings: object;
}

const itemOfOwner = ({ owner, projectId, settings }: NewOwner): NewItem => ({
  external_id: owner.id,
  internal_id: projectId,
  credits: owner.credits,
  settings,
});

const itemOfKey = ({ key, keyId, settings }: NewImportedKey): NewItem => ({
  external_id: key.id,
  internal_id: keyId,
  credits: key.budget,
  settings,
});

/** Returns the ids there of those that are new. */
async function addItems(
  inside: Statements,
  source: string,
  kind: ImportKind,
  items: readonly NewItem[],
): Promise<Set<string>> {
  const rows = await inside.query<{ externalId: string }>(
    'add-import-items',
    `insert into import_item (source, kind, external_id, internal_id, credits, settings)
     select $1, $2, x.external_id, x.internal_id, x.credits, x.settings
     from jsonb_to_recordset($3::jsonb) as x(external_id text, internal_id text, credits bigint, settings jsonb)
     on conflict (source, kind, external_id) do nothing returning external_id`,
    [source, kind, JSON.stringify(items)],
  );
  return new Set(rows.map(({ externalId }) => externalId));
}

async function addProjects(inside: Statements, owners: readonly NewOwner[]): Promise<void> {
  const rows = owners.map(({ owner, projectId, callbackSecret }) => ({
    id: projectId,
    name: owner.name,
    status: owner.enabled ? 'active' : 'disabled',
    callback_secret: callbackSecret,
    metadata: owner.metadata,
    overdraft: owner.overdraft,
  }));
  await inside.query(
    'add-imported-projects',
    `with x as (
       select * from jsonb_to_recordset($1::jsonb)
         as x(id text, name text, status text, callback_secret text, metadata jsonb, overdraft bigint)
     ), added as (
       insert into project (id, name, status, callback_secret, metadata)
       select id, name, status, callback_secret, metadata from x
     )
     insert into credit_account (project_id, overdraft, overdraft_max) select id, overdraft, overdraft from x`,
    [JSON.stringify(rows)],
  );
}

/** The reference of a ledger entry of an import: the first one is that of the id alone. */
export const importReference = (source: string, id: string, revision = 1): string =>
  `import:${source}:${id}${revision === 1 ? '' : `:${revision}`}`;

async function addFirstCredits(inside: Statements, source: string, owners: readonly NewOwner[]): Promise<void> {
  const rows = owners
    .filter(({ owner }) => owner.credits !== 0)
    .map(({ owner, projectId }) => ({
      project_id: projectId,
      credits: owner.credits,
      reference: importReference(source, owner.id),
    }));
  const verdicts = await inside.query<{ verdict: string }>(
    'add-imported-credits',
    `select case when x.credits > 0
       then (select a.verdict from add_credits_until(x.project_id, x.credits, x.reference, null) a)
       else (select d.verdict from deduct_credits(x.project_id, -x.credits, x.reference, 'owed at the import') d) end as verdict
     from jsonb_to_recordset($1::jsonb) as x(project_id text, credits bigint, reference text)`,
    [JSON.stringify(rows)],
  );
  for (const { verdict } of verdicts)
    if (verdict !== 'added' && verdict !== 'deducted') throw new Error(`the credits of an import are ${verdict}`);
}

async function addKeys(inside: Statements, keys: readonly NewImportedKey[]): Promise<void> {
  const rows = keys.map(({ key, keyId, projectId, expiresAt, rpm, inFlightMax }) => ({
    id: keyId,
    project_id: projectId,
    name: key.name,
    metadata: key.metadata,
    ip_ranges: key.ipRanges,
    models: key.models,
    rpm,
    in_flight_max: inFlightMax,
    budget: key.budget,
    budget_daily: key.budgetDaily,
    budget_monthly: key.budgetMonthly,
    expires_at: expiresAt,
  }));
  await inside.query(
    'add-imported-keys',
    `insert into api_key (id, project_id, name, metadata, ip_ranges, models, rpm, in_flight_max, budget, budget_daily,
       budget_monthly, expires_at)
     select id, project_id, name, metadata, ip_ranges, models, rpm, in_flight_max, budget, budget_daily, budget_monthly, expires_at
     from jsonb_to_recordset($1::jsonb) as x(id text, project_id text, name text, metadata jsonb, ip_ranges text[], models text[],
       rpm int, in_flight_max int, budget bigint, budget_daily bigint, budget_monthly bigint, expires_at timestamptz)`,
    [JSON.stringify(rows)],
  );
  await inside.query(
    'add-imported-secrets',
    `insert into api_key_secret (id, key_id, digest, pepper_id, prefix, last4, checksummed)
     select id, key_id, decode(digest, 'hex'), pepper_id, prefix, last4, checksummed
     from jsonb_to_recordset($1::jsonb)
       as x(id text, key_id text, digest text, pepper_id text, prefix text, last4 text, checksummed boolean)`,
    [
      JSON.stringify(
        keys
          .flatMap(({ secrets }) => secrets)
          .map(({ keyId, pepperId, ...secret }) => ({ ...secret, key_id: keyId, pepper_id: pepperId })),
      ),
    ],
  );
}

const addAudit = (
  inside: Statements,
  { source, actor, owners, keys }: { source: string; actor: string; owners: NewOwner[]; keys: NewImportedKey[] },
): Promise<void> =>
  recordAudits(inside, [
    ...owners.map(({ owner, projectId }) => ({
      actor,
      action: 'projects.import',
      subject: projectId,
      before: null,
      after: { name: owner.name, status: owner.enabled ? 'active' : 'disabled', balance: owner.credits },
      detail: { source, id: owner.id, reference: importReference(source, owner.id) },
    })),
    ...keys.map(({ key, keyId, projectId, settings }) => ({
      actor,
      action: 'keys.import',
      subject: keyId,
      before: null,
      after: { projectId, budget: key.budget, ...settings },
      detail: { source, id: key.id },
    })),
  ]);

/** Notes the id that a channel will have, before it is written; false if another run did. */
export const noteImportedChannel = (
  database: Database,
  { source, externalId, internalId }: { source: string; externalId: string; internalId: string },
): Promise<boolean> =>
  database.transaction('begin', async (_query, inside) => {
    const item = { external_id: externalId, internal_id: internalId, credits: null, settings: {} };
    return (await addItems(inside, source, 'channel', [item])).size > 0;
  });

/** Notes how an original is now, after its changes were made here. */
export const noteImportedSettings = (
  database: Database,
  { source, kind, externalId, settings }: { source: string; kind: ImportKind; externalId: string; settings: object },
): Promise<unknown> =>
  database.query(
    'note-imported-settings',
    `update import_item set settings = $4::jsonb, imported_at = clock_timestamp()
     where source = $1 and kind = $2 and external_id = $3`,
    [source, kind, externalId, JSON.stringify(settings)],
  );
