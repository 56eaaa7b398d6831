import { vendorOfUrl } from '../../domain/imports/channel-types.ts';
import type { ImportedChannel, ImportedInstallation } from '../../domain/imports/imported.ts';

/** A model of the drafts of a catalog. */
export interface DraftedModel {
  /** Those that serve it. */
  channels: ImportedChannel[];
  /** The name and the vendor at each family. The vendor is null if it has no table of its own, or if the channels are of several. */
  upstream: Map<string, { model: string; vendor: string | null }>;
}

const chatFamilies: readonly string[] = ['openai', 'anthropic', 'gemini'];

/** The most groups of a model, and each channel has a group of its own. */
const channelsMax = 100;

/**
 * The chat models of the channels, by the name that clients use. In a family a model has one upstream model: that of the channel that is tried
 * first. `unserved` has, in words, the models of a channel that other channels are drafted for.
 */
export function draftModels(channels: readonly ImportedChannel[]) {
  const models = new Map<string, DraftedModel>();
  const unserved = new Map<ImportedChannel, string[]>();
  const inOrder = channels.toSorted((a, b) => Number(b.enabled) - Number(a.enabled) || a.priority - b.priority);
  for (const channel of inOrder.filter(({ family }) => chatFamilies.includes(family)))
    for (const [alias, name] of Object.entries(channel.models)) {
      const model: DraftedModel = models.get(alias) ?? { channels: [], upstream: new Map() };
      models.set(alias, model);
      const vendor = vendorOfUrl(channel.baseUrl);
      const before = model.upstream.get(channel.family);
      const other = before && before.model !== name ? `here ${name}, drafted ${before.model}` : null;
      const lost = model.channels.length === channelsMax ? `${channelsMax} others serve it` : other;
      if (lost !== null) {
        unserved.set(channel, [...(unserved.get(channel) ?? []), `${alias} (${lost})`]);
        continue;
      }
      model.upstream.set(channel.family, { model: name, vendor: before && before.vendor !== vendor ? null : vendor });
      model.channels.push(channel);
    }
  return { models, unserved };
}

/** Names the channels that are not drafted for all their models. */
export function noteUnservedModels({ channels, notices }: Pick<ImportedInstallation, 'channels' | 'notices'>): void {
  for (const [{ id, name }, models] of draftModels(channels).unserved) {
    const sentence = `is drafted for all its models but ${models.join(', ')}. A model has one upstream model in each family, and ${channelsMax} channels at most.`;
    notices.push({ kind: 'check', subject: `channel ${id} (${name})`, sentence });
  }
}
