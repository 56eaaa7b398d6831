import type { Deps } from '../../deps.ts';
import { z } from 'zod';
import { findModelFor, type CallerOfModels } from '../../services/catalog/find-model.ts';
import type { Model } from '../../domain/catalog/catalog.ts';
import { modelList, publicModel } from '../../domain/catalog/model-list.ts';
import { isAllowed } from '../../domain/catalog/model-names.ts';
import { taskTypes } from '../../domain/tasks/task.ts';
import type { ModelsArguments } from './tool-arguments.ts';

const MediaModel = z.object({
  id: z.string(),
  type: z.enum(taskTypes),
  display_name: z.string(),
  description: z.string().nullable(),
  credits_from: z.int().describe('The price of the cheapest request. quote tells the price of yours.'),
  parameters: z.record(z.string(), z.unknown()).optional().describe('What the model takes beside the prompt.'),
});

export const MediaModels = z.object({ models: z.array(MediaModel) });

/**
 * The picture and video models that a key may use, or one of them with its parameters. The list has none, because those of all models
 * would fill the context of an agent. Throws what `findModelFor` throws.
 */
export async function mediaModels(
  deps: Pick<Deps, 'catalog'>,
  key: CallerOfModels,
  request: z.output<typeof ModelsArguments>,
): Promise<z.output<typeof MediaModels>> {
  if (request.model !== undefined) {
    const model = publicModel(await findModelFor(deps, request.model, key));
    return { models: summaries([model]).map((summary) => ({ ...summary, parameters: model.parameters })) };
  }
  const entries = await deps.catalog.under(key.plan).entries();
  const { data } = modelList(entries.filter((entry) => isAllowed(key.models, entry)));
  return { models: summaries(data).filter(({ type }) => request.type === undefined || type === request.type) };
}

const summaries = (models: readonly Model[]): z.output<typeof MediaModel>[] =>
  models.flatMap((model) => {
    const { id, type, display_name, description, pricing } = model;
    return type === 'chat' ? [] : [{ id, type, display_name, description, credits_from: pricing.credits_per_request }];
  });
