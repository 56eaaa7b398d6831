import { noteImportedChannel, noteImportedSettings, type ImportItem } from '../../db/imports/import-items.ts';
import { findChannelNamed, switchChannel, type ChannelRecord } from '../../db/channels/channel-settings.ts';
import type { ImportedChannel } from '../../domain/imports/imported.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { addChannel } from '../channels/add-channel.ts';
import { setChannel } from '../channels/set-channel.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';
import type { ImportDeps, ImportRun } from './import-run.ts';
import { channelSettings, type Changed, type ImportPlan } from './import-plan.ts';

/** Adds channels with all of their credentials, also those that a killed run has begun. Returns how many. */
export async function addImportedChannels(
  deps: ImportDeps,
  run: ImportRun,
  { newChannels, channelIds }: Pick<ImportPlan, 'newChannels' | 'channelIds'>,
): Promise<number> {
  const { source } = run;
  let added = 0;
  for (const channel of newChannels) {
    const begun = channelIds.get(channel.id);
    const channelId = begun ?? newId('chn');
    if (
      begun === undefined &&
      !(await noteImportedChannel(deps.db, { source, externalId: channel.id, internalId: channelId }))
    )
      continue;
    await writeChannel(deps, run, channel, channelId);
    added += 1;
    run.progress(`${added} of ${newChannels.length} channels`);
  }
  return added;
}

/** A weight of 0 is never drawn, so that no request meets a channel whose settings are not all written. */
async function writeChannel(
  deps: ImportDeps,
  run: ImportRun,
  channel: ImportedChannel,
  channelId: string,
): Promise<void> {
  const { actor, source } = run;
  const [credential = '', ...further] = channel.credentials;
  try {
    await setChannel(deps, { channel: channelId, changes: { weight: 0 }, actor });
  } catch (error) {
    if (!(error instanceof UnknownToOperator)) throw error;
    const name = await freeName(deps, run, channel);
    await addChannel(deps, { ...recordOf(run, channel), channelId, name, weight: 0, credential, actor });
  }
  await addCredentials(deps, { channel: channelId, secrets: further, actor });
  if (!channel.enabled) await switchChannel(deps.db, { channel: channelId, enabled: false, actor });
  await setChannel(deps, { channel: channelId, changes: { weight: channel.weight, ...limitsOf(channel) }, actor });
  const settings = channelSettings(channel);
  await noteImportedSettings(deps.db, { source, kind: 'channel', externalId: channel.id, settings });
}

/** Without one that is not limited there. */
const limitsOf = ({ rpm, tpm }: ImportedChannel): Pick<ChannelRecord, 'rpm' | 'tpm'> => ({
  ...(rpm !== null && { rpm }),
  ...(tpm !== null && { tpm }),
});

/** A credential that the channel has already is not added again. */
async function addCredentials(
  deps: ImportDeps,
  { channel, secrets, actor }: { channel: string; secrets: readonly string[]; actor: string },
): Promise<void> {
  for (const credentialAdd of secrets)
    await setChannel(deps, { channel, changes: {}, credentialAdd, actor }).catch((error: unknown) => {
      if (!(error instanceof OperatorError)) throw error;
    });
}

/** The group of a channel alone, by which the drafts of the catalog name the channels of a model. */
export const ownGroup = (source: string, { id, name }: Pick<ImportedChannel, 'id' | 'name'>): string =>
  /^\d+$/.test(id) ? slug(`${source}-${id}`) : `${slug(name)}-${sha256Hex(id).slice(0, 6)}`;

const slug = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[^\w-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60);

const recordOf = (
  { source }: ImportRun,
  channel: ImportedChannel,
): Omit<ChannelRecord, 'name' | 'credential' | 'weight'> => ({
  adapter: channel.family,
  baseUrl: channel.baseUrl,
  groups: [...new Set([...channel.groups.map(slug).filter(Boolean), ownGroup(source, channel)])],
  priority: channel.priority,
});

/** The name there, if it can be one here and no channel has it; else with a number. */
async function freeName({ db }: ImportDeps, { source }: ImportRun, channel: ImportedChannel): Promise<string> {
  const own = ownGroup(source, channel);
  const wanted = slug(channel.name).replace(/^chn_/, '') || own;
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!(await findChannelNamed(db, name))) return name;
  }
}

/** Makes the changes of channels since the last import. New keys are added to the pool; those that are gone there stay. */
export async function changeImportedChannels(
  deps: ImportDeps,
  run: ImportRun,
  changed: readonly Changed<ImportedChannel>[],
): Promise<void> {
  const { source, actor } = run;
  for (const { original, item, settings } of changed) {
    const channel = item.internalId;
    const { weight, rpm, tpm } = original;
    const present = channelSettings(original);
    const record = Object.entries({ ...recordOf(run, original), weight, rpm, tpm });
    const members = settings.map((setting) => (setting === 'family' ? 'adapter' : setting));
    const changes = {
      ...Object.fromEntries(record.filter(([member]) => members.includes(member))),
      ...(isFirstReplaced(item.settings, present) && { credential: original.credentials[0] ?? '' }),
    };
    if (Object.keys(changes).length > 0) await setChannel(deps, { channel, changes, actor });
    if (settings.includes('credentials')) await addCredentials(deps, { channel, secrets: original.credentials, actor });
    if (settings.includes('enabled')) await switchChannel(deps.db, { channel, enabled: original.enabled, actor });
    await noteImportedSettings(deps.db, { source, kind: 'channel', externalId: original.id, settings: present });
  }
}

/** Whether the first key is gone there and a new one stands in its place. A key of the pool that moves up is not stored twice. */
function isFirstReplaced(...settings: [before: ImportItem['settings'], present: ImportItem['settings']]): boolean {
  const [before, present] = settings.map(({ credentials = [] }) => [credentials].flat());
  return !present?.includes(before?.[0] ?? null) && !before?.includes(present?.[0] ?? null);
}
