import {
  analyzeImported,
  findStoredDigests,
  insertImported,
  type NewImportedKey,
  type NewOwner,
  type StoredKeySecret,
} from '../../db/imports/import-items.ts';
import { replaceHeldGrants } from '../../db/imports/held-grants.ts';
import type { Deps } from '../../deps.ts';
import type { ImportedInstallation, ImportedKey, ImportedOwner, ImportNotice } from '../../domain/imports/imported.ts';
import { digestsOfApiKey, plainPepperId } from '../../platform/crypto/api-key.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { callbackSecretContext, newWebhookSecret } from '../projects/callback-secret.ts';
import { newSecretRow } from '../projects/new-secret-row.ts';
import { addImportedChannels, changeImportedChannels } from './import-channels.ts';
import { changeImportedKeys, changeImportedOwners } from './import-changes.ts';
import { keyLimitsOf, toDate, type ImportDeps, type ImportRun } from './import-run.ts';
import { keySettings, ownerSettings, type ImportPlan } from './import-plan.ts';

/** Owners that are written in one transaction with their keys. A killed run loses no more than one such transaction. */
const ownersTogether = 50;
const keysTogether = 250;
/** As many new rows may change how PostgreSQL should read their tables. */
const analyzedFrom = 1_000;

/** Writes what a plan says: whole projects with their credits and keys, then what changed. Every step may be repeated. */
export async function applyImport(
  deps: ImportDeps,
  run: ImportRun,
  plan: ImportPlan,
  { redemptions }: Pick<ImportedInstallation, 'redemptions'>,
): Promise<{ projects: number; keys: number; channels: number }> {
  const channels = await addImportedChannels(deps, run, plan);
  const keysOf = Map.groupBy(plan.newKeys, ({ ownerId }) => ownerId);
  const created = { projects: 0, keys: 0, channels };
  const add = async (owners: NewOwner[], keys: NewImportedKey[]): Promise<void> => {
    const added = await insertImported(deps.db, { ...run, owners, keys });
    created.projects += added.projects;
    created.keys += added.keys;
    run.progress(
      `${created.projects} of ${plan.newOwners.length} projects, ${created.keys} of ${plan.newKeys.length} keys`,
    );
  };
  for (let at = 0; at < plan.newOwners.length; at += ownersTogether) {
    const owners = plan.newOwners.slice(at, at + ownersTogether).map((owner) => newOwner(deps, owner));
    const keys = owners.flatMap(({ owner, projectId }) =>
      (keysOf.get(owner.id) ?? []).map((key) => newKey(deps, key, projectId)),
    );
    await add(owners, keys);
  }
  const isNew = new Set(plan.newOwners.map(({ id }) => id));
  const further = plan.newKeys.filter(({ ownerId }) => !isNew.has(ownerId) && plan.projectIds.has(ownerId));
  for (let at = 0; at < further.length; at += keysTogether) {
    const keys = further.slice(at, at + keysTogether);
    await add(
      [],
      keys.map((key) => newKey(deps, key, plan.projectIds.get(key.ownerId) ?? '')),
    );
  }
  await changeImportedOwners(deps, run, plan.changedOwners);
  await changeImportedKeys(deps, run, plan.changedKeys);
  await changeImportedChannels(deps, run, plan.changedChannels);
  await holdRedemptions(deps, run, redemptions);
  if (created.projects + created.keys >= analyzedFrom) await analyzeImported(deps.db);
  return created;
}

/** Codes that were not redeemed there: `credits redeem` gives their credits. */
const holdRedemptions = (
  { db }: ImportDeps,
  { source }: ImportRun,
  redemptions: ImportedInstallation['redemptions'],
): Promise<number> =>
  replaceHeldGrants(db, {
    source,
    grants: redemptions.map(({ code, expiresAt, ...grant }) => ({
      ...grant,
      digest: sha256Hex(code),
      expiresAt: expiresAt === null ? null : toDate(expiresAt),
    })),
  });

function newOwner({ sealer }: ImportDeps, owner: ImportedOwner): NewOwner {
  const projectId = newId('prj');
  const callbackSecret = sealer.seal(newWebhookSecret(), callbackSecretContext(projectId));
  return { owner, projectId, callbackSecret, settings: ownerSettings(owner) };
}

function newKey(deps: ImportDeps, key: ImportedKey, projectId: string): NewImportedKey {
  const keyId = newId('key');
  const secrets = storedSecrets(deps.config.secrets, keyId, key);
  return { key, keyId, projectId, ...keyLimitsOf(deps, key), settings: keySettings(key), secrets };
}

function storedSecrets(
  secrets: Deps['config']['secrets'],
  keyId: string,
  { secret }: Pick<ImportedKey, 'secret'>,
): StoredKeySecret[] {
  if ('sha256' in secret) {
    const { sha256: digest, prefix, last4 } = secret;
    return [{ id: newId('sec'), keyId, digest, pepperId: plainPepperId, prefix, last4, checksummed: false }];
  }
  // Lists show the newest, and of those of one time the one with the highest id: the first form.
  const rows = [...secret.plain].reverse().map((plain) => newSecretRow(secrets, plain));
  return rows.map(({ digest, ...row }) => ({ ...row, keyId, digest: digest.toString('hex') }));
}

const digestsTogether = 1_000;

/** The new keys whose secret a key here has already. They would not be told apart. */
export async function takenSecrets({ db, config }: ImportDeps, keys: readonly ImportedKey[]): Promise<ImportNotice[]> {
  const notices: ImportNotice[] = [];
  for (let at = 0; at < keys.length; at += digestsTogether) {
    const digests = new Map(
      keys
        .slice(at, at + digestsTogether)
        .flatMap((key) => allDigests(config.secrets.keyPeppers, key).map((digest) => [digest, key] as const)),
    );
    const taken = new Set([...(await findStoredDigests(db, [...digests.keys()]))].map((digest) => digests.get(digest)));
    for (const key of taken)
      notices.push({
        kind: 'refused',
        subject: `key ${key?.id ?? ''} (${key?.name ?? ''})`,
        sentence: 'has a secret that a key here has already.',
      });
  }
  return notices;
}

const allDigests = (peppers: readonly { secret: Buffer }[], { secret }: ImportedKey): string[] =>
  'sha256' in secret
    ? [secret.sha256]
    : secret.plain.flatMap((plain) => digestsOfApiKey(plain, peppers).map((digest) => digest.toString('hex')));
