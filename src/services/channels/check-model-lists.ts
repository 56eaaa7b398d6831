import { listChannels, type ChannelRow } from '../../db/channels/channels.ts';
import { listModels } from '../../db/catalog/models.ts';
import type { Deps } from '../../deps.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { servedMappings, unlistedNames } from '../../domain/catalog/listed-models.ts';
import { inLanes } from '../../platform/in-lanes.ts';
import { listUpstreamModels } from './free-calls.ts';

type CheckDeps = Pick<Deps, 'db' | 'channels' | 'adapters' | 'sealer' | 'logger'>;

const lanes = 8;

/**
 * Compares the catalog with the model list of each enabled channel's provider, so that a name which a provider withdrew, or which
 * was never right, is found without a client's request. A mapping that a complete list lacks, and with which no call has succeeded
 * for a day, raises an alarm and is not drawn. It is drawn again once the list has it. `list_check` off leaves a channel out.
 */
export async function checkModelLists(deps: CheckDeps): Promise<{ lists: number; unlisted: number; relisted: number }> {
  const count = { lists: 0, unlisted: 0, relisted: 0 };
  const [{ channels }, entries] = await Promise.all([listChannels(deps.db), listModels(deps.db)]);
  const checked = channels.filter(({ enabled, listCheck }) => enabled && listCheck);
  await inLanes(checked, lanes, async (channel) => {
    const changed = await checkList(deps, channel, entries);
    if (!changed) return;
    count.lists += 1;
    count.unlisted += changed.marked.length;
    count.relisted += changed.cleared.length;
  });
  return count;
}

/** Null if there was no list. Never rejects, so that one provider does not stop the check of the others. */
async function checkList(deps: CheckDeps, channel: ChannelRow, entries: readonly CatalogEntry[]) {
  try {
    const list = await listUpstreamModels(deps, channel);
    if (list?.kind !== 'ok') return null;
    const { names, isComplete } = list.value;
    const lacking = servedMappings(entries, channel).flatMap(({ entry, mapping }) => {
      const unlisted = unlistedNames(mapping, names);
      return unlisted.length === 0 ? [] : [{ modelId: entry.model.id, reason: unlistedReason(unlisted) }];
    });
    return await deps.channels.noteModelList(channel, lacking, isComplete);
  } catch (error) {
    deps.logger.warn({ err: error, channel: channel.name }, 'the model list of a channel could not be checked');
    return null;
  }
}

/** The reason why a mapping is not drawn, for `channels list`. */
const unlistedReason = (names: readonly string[]): string => `the provider's model list lacks ${names.join(', ')}`;
