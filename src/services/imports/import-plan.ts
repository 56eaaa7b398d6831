import type { ImportItem } from '../../db/imports/import-items.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type {
  ImportedChannel,
  ImportedInstallation,
  ImportedKey,
  ImportedOwner,
} from '../../domain/imports/imported.ts';
import type { JsonValue } from '../../domain/json.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';

/** What is new at a source, and what changed there since the last import. */
export interface ImportPlan {
  newOwners: ImportedOwner[];
  newKeys: ImportedKey[];
  newChannels: ImportedChannel[];
  changedOwners: Changed<ImportedOwner>[];
  changedKeys: Changed<ImportedKey>[];
  changedChannels: Changed<ImportedChannel>[];
  unchanged: number;
  /** What was imported and is no longer there, by kind. */
  gone: ImportItem[];
  /** The ids here of owners that were imported before, by their id there. */
  projectIds: Map<string, string>;
  /** The same of channels. */
  channelIds: Map<string, string>;
}

export interface Changed<Original> {
  original: Original;
  item: ImportItem;
  /** The names of the settings that changed there. */
  settings: string[];
  creditsChanged: boolean;
}

type ImportSettings = Record<string, JsonValue>;

/** Compares a source with what earlier imports of it made. Pure. */
export function planImport(installation: ImportedInstallation, items: readonly ImportItem[]): ImportPlan {
  const existing = new Map(items.map((item) => [`${item.kind} ${item.externalId}`, item]));
  const seen = new Set<string>();
  let unchanged = 0;
  const split = <Original extends { id: string }>(
    kind: ImportItem['kind'],
    originals: readonly Original[],
    settingsOf: (original: Original) => ImportSettings,
    creditsOf: (original: Original) => number | null,
  ) => {
    const fresh: Original[] = [];
    const changed: Changed<Original>[] = [];
    for (const original of originals) {
      const item = existing.get(`${kind} ${original.id}`);
      seen.add(`${kind} ${original.id}`);
      // A killed run notes a channel before it is whole.
      if (!item || Object.keys(item.settings).length === 0) {
        fresh.push(original);
        continue;
      }
      const settings = differencesOf(item.settings, settingsOf(original));
      const creditsChanged = item.credits !== creditsOf(original);
      if (settings.length > 0 || creditsChanged) changed.push({ original, item, settings, creditsChanged });
      else unchanged += 1;
    }
    return { fresh, changed };
  };
  const owners = split('project', installation.owners, ownerSettings, ({ credits }) => credits);
  const keys = split('key', installation.keys, keySettings, ({ budget }) => budget);
  const channels = split('channel', installation.channels, channelSettings, () => null);
  return {
    newOwners: owners.fresh,
    newKeys: keys.fresh,
    newChannels: channels.fresh,
    changedOwners: owners.changed,
    changedKeys: keys.changed,
    changedChannels: channels.changed,
    unchanged,
    gone: items.filter((item) => !seen.has(`${item.kind} ${item.externalId}`)),
    projectIds: idsOf(items, 'project'),
    channelIds: idsOf(items, 'channel'),
  };
}

const idsOf = (items: readonly ImportItem[], kind: ImportItem['kind']): Map<string, string> =>
  new Map(
    items.filter((item) => item.kind === kind).map(({ externalId, internalId }) => [externalId, internalId] as const),
  );

const differencesOf = (before: Readonly<Record<string, JsonValue>>, after: ImportSettings): string[] =>
  Object.entries(after)
    .filter(([name, value]) => canonicalJson(before[name] ?? null) !== canonicalJson(value))
    .map(([name]) => name);

export const ownerSettings = ({ name, enabled, overdraft, metadata }: ImportedOwner): ImportSettings => ({
  name,
  enabled,
  overdraft,
  metadata,
});

export const keySettings = ({
  id: _id,
  secret: _secret,
  budget: _budget,
  ...settings
}: ImportedKey): ImportSettings => ({ ...settings });

/** The credentials as digests, so that a change is seen. */
export const channelSettings = ({
  id: _id,
  credentials,
  models: _models,
  ...settings
}: ImportedChannel): ImportSettings => ({
  ...settings,
  credentials: credentials.map((credential) => sha256Hex(credential).slice(0, 16)),
});
