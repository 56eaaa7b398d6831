import type { Database } from '../database.ts';

/** A model that a provider's list lacks, with a sentence about it for operators. */
export interface UnlistedModel {
  modelId: string;
  reason: string;
}

/** A mapping that succeeded in this time is not marked: providers do not list every alias that they accept. */
const successSeconds = 86_400;

/**
 * Notes which of a channel's models the provider's list lacks. A marked mapping is not drawn, and a list that may go on (`isComplete`
 * false) marks none. A mapping that the list has again is drawn again. Returns the models whose state changed.
 */
export const noteModelList = (
  database: Database,
  channelId: string,
  lacking: readonly UnlistedModel[],
  isComplete: boolean,
): Promise<{ marked: string[]; cleared: string[] }> =>
  database.value('note_model_list', [
    channelId,
    lacking.map(({ modelId }) => modelId),
    lacking.map(({ reason }) => reason),
    isComplete,
    successSeconds,
  ]);

/** Notes that a call for a model succeeded at a channel. A mapping that was not drawn is drawn again. */
export const noteMappingSuccess = (
  database: Database,
  { channelId, modelId }: { channelId: string; modelId: string },
): Promise<void> => database.value('note_mapping_success', [channelId, modelId]);
