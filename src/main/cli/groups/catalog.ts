import { z } from 'zod';
import { applyCatalog } from '../../../commands/catalog/apply-catalog.ts';
import { loadCatalog } from '../../../commands/catalog/load-catalog.ts';
import { OperatorError } from '../../../commands/operator-error.ts';
import { listModels } from '../../../db/models.ts';
import type { CatalogEntry } from '../../../domain/catalog.ts';
import { command, group } from '../define-command.ts';
import { shortText } from '../input.ts';
import { database, nothing } from '../operator-deps.ts';
import { clean } from '../plain-text.ts';
import { listReport } from '../report.ts';

/** `tollgate catalog …`: the models on offer. */
export const catalog = group('the models on offer, with their prices', () => ({ check, apply, show }));

// A path may be longer than a name.
const file = z.string().min(1, 'must not be empty').describe('YAML file with the catalog, or a folder with several');

const check = command({
  summary: 'report the errors of a catalog; needs no database',
  input: { file },
  needs: nothing,
  async run(_, { file: path }) {
    const { entries, warnings } = await loadCatalog(path);
    return {
      document: { ok: true, models: entries.length, warnings },
      text: [`${clean(path)} is valid: ${entries.length} models.`, ...warningLines(warnings)].join('\n'),
    };
  },
});

const apply = command({
  summary: 'check a catalog, then replace the models with it',
  input: { file },
  needs: database,
  async run(deps, { file: path }, actor) {
    const applied = await applyCatalog(deps, { file: path, actor });
    const changes = (['added', 'changed', 'removed'] as const).filter((change) => applied[change].length > 0);
    const lines = changes.map((change) => `${change}: ${applied[change].join(', ')}`);
    return {
      document: applied,
      text: [...(lines.length > 0 ? lines : ['Nothing changed.']), ...warningLines(applied.warnings)].join('\n'),
    };
  },
});

const show = command({
  summary: 'list the models of the catalog, or show one model in full',
  input: { model: shortText.optional().describe('id of a model') },
  needs: database,
  async run({ db }, { model }) {
    const entries = await listModels(db);
    if (model === undefined) return listReport(entries, toLine, { nothing: 'The catalog is empty.', toDocument });
    const entry = entries.find((candidate) => candidate.model.id === model);
    if (!entry) throw new OperatorError(`The catalog has no model ${model}.`);
    return { document: toDocument(entry), text: JSON.stringify(toDocument(entry), null, 2) };
  },
});

const toLine = (entry: CatalogEntry) => ({
  id: entry.model.id,
  type: entry.model.type,
  status: entry.model.status,
  public: entry.private.public ? 'yes' : 'no',
  credits: priceOf(entry),
  groups: entry.private.groups.join(','),
  adapters: Object.keys(entry.private.upstream).join(','),
});

/** As in the file. */
const toDocument = (entry: CatalogEntry) => ({ ...entry.model, private: entry.private });

function priceOf({ model: { pricing, parameters } }: CatalogEntry): string {
  if (pricing.unit === 'tokens') {
    return `${pricing.credits_per_1k_input_tokens} in, ${pricing.credits_per_1k_output_tokens} out per 1k`;
  }
  const prices = parameters.pricingRules?.map(({ credits }) => credits) ?? [pricing.credits_per_request];
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  return low === high ? String(low) : `${low} to ${high}`;
}

const warningLines = (warnings: readonly string[]): string[] => warnings.map((warning) => `warning: ${clean(warning)}`);
