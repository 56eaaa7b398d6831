import { z } from 'zod';
import { createAdminToken } from '../../../src/services/operators/create-admin-token.ts';
import { revokeAdminToken } from '../../../src/services/operators/revoke-admin-token.ts';
import { addCredits, showCredits } from '../../../src/services/ledger/add-credits.ts';
import { applyCatalog } from '../../../src/services/catalog/apply-catalog.ts';
import { readCatalogFiles, type CatalogText } from '../../../src/services/catalog/load-catalog.ts';
import { repriceCatalog } from '../../../src/services/catalog/reprice-catalog.ts';
import { creditValueOf } from '../../../src/services/ledger/credit-value.ts';
import { creditsAndMoney, creditValueOfNew } from '../../../src/domain/ledger/money.ts';
import { createKey } from '../../../src/services/projects/create-key.ts';
import { createProject } from '../../../src/services/projects/create-project.ts';
import { ensureChannel } from './ensure-channel.ts';
import { showProjectSecret } from '../../../src/services/projects/project-secret.ts';
import { adapterFamilies } from '../../../src/adapters/registry.ts';
import { liveAdminTokensNamed } from '../../../src/db/operators/admin-tokens.ts';
import { joinGroups } from '../../../src/db/channels/channel-settings.ts';
import { findProject } from '../../../src/db/projects/projects.ts';
import type { Deps } from '../../../src/deps.ts';
import { SealError } from '../../../src/platform/crypto/seal.ts';
import { buildDeps } from '../../../src/main/build-deps.ts';
import { syncProviderChannels, type ProviderChannel } from './provider-channels.ts';
import { readJsonFile, writePrivate } from '../../../src/main/dev-home/json-file.ts';
import { configOrExit } from '../../../src/main/run-process.ts';

const Secrets = z.object({ project_id: z.string(), api_key: z.string(), webhook_secret: z.string() });
type Secrets = z.infer<typeof Secrets>;

/** Of a new demo project: credits for 100 USD. */
const demoMicroUsd = 100_000_000;
/** How the shipped catalog is priced. */
const shippedCatalog = 'catalog';
const shippedPolicy = { markup: 1.25, minimum: 1 };
const actor = 'npm start';

/**
 * Creates what `npm start` needs: the catalog, the sandbox's channels, a demo project with credits and a key. A later run keeps the
 * project and updates the rest. Prints one line of JSON.
 */
async function seed(
  deps: Deps,
  secretsFile: string,
): Promise<Secrets & { demo_credits: string; admin_token: string; providers: ProviderChannel[] }> {
  await applyCatalog(deps, { texts: await catalogTexts(deps), actor });
  const groups = await allGroups(deps);
  for (const family of Object.keys(adapterFamilies)) await ensureSandboxChannels(deps, family, groups);
  const providers = await syncProviderChannels(deps, actor);
  const demo = await ensureDemo(deps, secretsFile);
  const demo_credits = await shownBalance(deps, demo.project_id);
  return { ...demo, demo_credits, admin_token: await replaceAdminToken(deps), providers };
}

/**
 * The shipped prices are for credits of a millionth of a dollar. A state of 0.2.0 keeps its credits of a cent, so that there they are priced from the costs again.
 */
async function catalogTexts(deps: Deps): Promise<readonly CatalogText[]> {
  const { file } = deps.config.catalog;
  const texts = await readCatalogFiles(file);
  const creditValue = await creditValueOf(deps);
  const isShipped = file === shippedCatalog && creditValue !== creditValueOfNew && creditValue > 0;
  return isShipped ? repriceCatalog(texts, { ...shippedPolicy, creditValue }).texts : texts;
}

async function ensureDemo(deps: Deps, secretsFile: string): Promise<Secrets> {
  const remembered = readJsonFile(Secrets, secretsFile);
  if (remembered && (await findProject(deps.db, remembered.project_id))) {
    return { ...remembered, webhook_secret: await currentSecret(deps, remembered) };
  }

  const { projectId, webhookSecret } = await createProject(deps, { name: 'demo', actor });
  await addCredits(deps, {
    projectId,
    amount: Math.ceil(demoMicroUsd / Math.max(1, await creditValueOf(deps))),
    reference: 'demo',
    actor,
  });
  const { apiKey } = await createKey(deps, { projectId, name: 'demo', actor });
  const secrets: Secrets = { project_id: projectId, api_key: apiKey, webhook_secret: webhookSecret };
  writePrivate(secretsFile, secrets);
  return secrets;
}

/** `100,000,000 credits · $100.00` */
async function shownBalance(deps: Deps, projectId: string): Promise<string> {
  const { balance } = await showCredits(deps, projectId);
  return creditsAndMoney(balance, {
    creditValue: await creditValueOf(deps),
    sign: deps.config.accounting.currencySign,
  });
}

/** An owner's token for this run. Those of earlier runs end, because only their digests are stored. */
async function replaceAdminToken(deps: Deps): Promise<string> {
  for (const tokenId of await liveAdminTokensNamed(deps.db, actor)) await revokeAdminToken(deps, { tokenId, actor });
  const { token } = await createAdminToken(deps, { name: actor, role: 'owner', expiresAt: null, actor });
  return token;
}

/** The current callback secret. Null if it was sealed under a master key that no longer exists. */
async function currentSecret(deps: Deps, { project_id: id, webhook_secret: recordedSecret }: Secrets): Promise<string> {
  try {
    return (await showProjectSecret(deps, id)).webhookSecret;
  } catch (error) {
    if (error instanceof SealError) return recordedSecret;
    throw error;
  }
}

const sandboxChannels = [
  { name: 'sandbox-a', priority: 1, weight: 3 },
  { name: 'sandbox-b', priority: 1, weight: 1 },
  { name: 'sandbox-c', priority: 2, weight: 1 },
];

/**
 * A channel speaks one family, so each family has three channels. Those of the first family have the plain names. Later families have
 * higher priority numbers, so that the three attempts at a model of several families go to sandbox-a, -b and -c of one family. The URLs
 * of all families, and so `on=` and the hits, have the plain names.
 */
async function ensureSandboxChannels(deps: Deps, family: string, groups: string[]): Promise<void> {
  const index = Object.keys(adapterFamilies).indexOf(family);
  for (const { name, priority, weight } of sandboxChannels) {
    const { channelId, created } = await ensureChannel(deps, {
      name: index === 0 ? name : `${name}-${family}`,
      adapter: family,
      baseUrl: `${deps.config.development.sandboxUrl}/${name}/${family}`,
      credential: 'sandbox',
      groups,
      priority: priority + 2 * index,
      weight,
      actor,
    });
    // The sandbox answers every model, also those of a newer catalog.
    if (!created) await joinGroups(deps.db, channelId, groups);
  }
}

async function allGroups({ catalog }: Deps): Promise<string[]> {
  const entries = await catalog.entries();
  return [...new Set(entries.flatMap((entry) => entry.private.groups))].sort();
}

const secretsFile = process.env['TOLLGATE_DEV_SECRETS_FILE'];
if (!secretsFile) throw new Error('TOLLGATE_DEV_SECRETS_FILE is not set');
const { deps, close } = await buildDeps(configOrExit(), 'seed');
try {
  process.stdout.write(`${JSON.stringify(await seed(deps, secretsFile))}\n`);
} finally {
  await close();
}
