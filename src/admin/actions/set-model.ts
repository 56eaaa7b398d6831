import { z } from 'zod';
import { versionOfEntry } from '../../services/catalog/entry-version.ts';
import { setModel } from '../../services/catalog/set-model.ts';
import { SetModel } from '../schemas/catalog.ts';
import { action, option, readFrom } from '../define-action.ts';
import { shortText } from '../input.ts';
import { oneLine } from '../plain-text.ts';

/** `tollgate catalog set`: one model, and not the whole catalog. */
export const setModelAction = action({
  summary: 'check the entry of one model, then replace it; the other models stay',
  input: {
    model: shortText.describe('id of the model'),
    entry: readFrom(
      'rules',
      option(
        '<file>',
        z.union([z.string(), z.record(z.string(), z.unknown())], {
          error: ({ input }) => (input === undefined ? 'is required' : 'must be the entry of a model'),
        }),
      ),
    ).describe('JSON or YAML file with the entry, as "catalog show MODEL --json" prints it'),
    version: option('<version>', shortText.optional()).describe(
      'only if the model still has this version, as "catalog show MODEL --json" shows it',
    ),
  },
  example: { entry: { id: 'gpt-6-luna' }, version: '0f7be31c8a54d902' },
  route: { method: 'PUT', path: '/catalog/:model', role: 'operator' },
  answer: SetModel,
  refusals: ['not_found', 'action_refused', 'version_conflict'],
  needs: 'database',
  async run(deps, { model, entry: input, version: based }, actor) {
    const text = typeof input === 'string' ? input : JSON.stringify(input);
    const { changed, entry, warnings } = await setModel(deps, { model, text, version: based, actor });
    return {
      document: { model, changed, version: versionOfEntry(entry), warnings },
      text: [
        changed ? `Changed ${model}.` : 'Nothing changed.',
        ...warnings.map((warning) => `warning: ${oneLine(warning)}`),
      ].join('\n'),
    };
  },
});
