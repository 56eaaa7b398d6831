import { z } from 'zod';
import { applyCatalog } from '../../../commands/catalog/apply-catalog.ts';
import { loadCatalog } from '../../../commands/catalog/load-catalog.ts';
import { OperatorError } from '../../../commands/operator-error.ts';
import { listModels } from '../../../db/models.ts';
import type { CatalogEntry } from '../../../domain/catalog.ts';
import { modelMargins, type Margin } from '../../../domain/margins.ts';
import { describeCombination } from '../../../domain/offered-combinations.ts';
import { command, group } from '../define-command.ts';
import { shortText } from '../input.ts';
import { creditValue, database } from '../operator-deps.ts';
import { clean, table, usd } from '../plain-text.ts';
import { listReport } from '../report.ts';

/** `tollgate catalog …`: the models on offer. */
export const catalog = group('the models on offer, with their prices', () => ({ check, apply, show }));

// A path may be longer than a name.
const file = z.string().min(1, 'must not be empty').describe('YAML file with the catalog, or a folder with several');

const check = command({
  summary:
    'report the errors of a catalog and what each model earns; exits 1 if a request costs more than the client pays',
  input: { file },
  needs: creditValue,
  async run({ creditValueMicroUsd }, { file: path }) {
    const { entries, warnings } = await loadCatalog(path);
    const models = entries.map((entry) => ({ entry, ...modelMargins(entry, creditValueMicroUsd) }));
    const losses = models.flatMap(({ entry, losses: own }) => own.map((loss) => ({ model: entry.model.id, loss })));
    const data = models.map(({ entry, margins, losses: own }) => ({
      model: entry.model.id,
      type: entry.model.type,
      status: entry.model.status,
      loss_ok: lossReasons(entry),
      margins: margins.map(marginDocument),
      losses: own.map(marginDocument),
    }));
    const lines = models.flatMap(({ entry, margins }) => margins.map((margin) => marginLine(entry.model.id, margin)));
    const refused = losses.length > 0;
    return {
      document: {
        ok: !refused,
        models: entries.length,
        credit_value_micro_usd: creditValueMicroUsd,
        losses: losses.length,
        data,
        warnings,
      },
      text: [
        table(lines),
        '',
        `${clean(path)} is valid: ${entries.length} models. A credit is worth ${usd(creditValueMicroUsd)} USD.`,
        ...warningLines(warnings),
        ...entries.flatMap((entry) =>
          Object.entries(lossReasons(entry)).map(
            ([family, why]) => `loss_ok: ${entry.model.id} at ${family}: ${clean(why)}`,
          ),
        ),
        ...losses.map(({ model, loss }) => `loss: ${lossLine(model, loss)}`),
      ].join('\n'),
      refused,
    };
  },
});

/** Why a model may cost more than the client pays, by family. */
const lossReasons = ({ private: { loss_ok: whole, upstream } }: CatalogEntry): Record<string, string> =>
  Object.fromEntries(
    Object.entries(upstream).flatMap(([family, { loss_ok: own = whole }]) =>
      own === undefined ? [] : [[family, own]],
    ),
  );

const marginDocument = ({ price, cost, margin, ...about }: Margin) => ({
  ...about,
  price_micro_usd: price,
  cost_micro_usd: cost,
  margin_micro_usd: margin,
});

const marginLine = (model: string, { request, unit, family, asked, credits, price, cost, margin }: Margin) => ({
  model,
  request: unit === 'request' ? request : `${request} ${unit}`,
  family,
  asked: describeCombination(asked),
  credits,
  price_usd: usd(price),
  cost_usd: usd(cost),
  margin_usd: usd(margin),
  margin: `${Math.round((100 * margin) / price)} %`,
});

const lossLine = (model: string, { unit, family, asked, price, cost }: Margin): string =>
  `${model} at ${family ?? 'any family'}, ${unit === 'request' ? '' : `${unit}, `}${describeCombination(asked)}: ` +
  `costs ${usd(cost)} USD and is sold for ${usd(price)} USD. Change the price, or say why in loss_ok.`;

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
