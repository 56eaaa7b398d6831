import { Model, ModelList } from '../schemas/model.ts';
import { json, type Operation } from '../operation.ts';
import { modelInPath, notModified, validated } from './shared.ts';

export const modelOperations: Record<string, Operation> = {
  'GET /api/v1/models': {
    summary: 'List the models',
    description:
      'Active models that the key may use, with their types, prices and parameters. `Accept-Encoding` may name `br`, `zstd` or `gzip`.',
    tag: 'Models',
    answers: { 200: { description: 'The models.', content: json(ModelList), headers: validated }, 304: notModified },
  },
  'GET /api/v1/models/{model}': {
    summary: 'Read a model',
    tag: 'Models',
    parameters: [modelInPath('The id of a model.')],
    answers: { 200: { description: 'The model.', content: json(Model), headers: validated }, 304: notModified },
    errors: ['model_not_found'],
  },
};
