import { z } from 'zod';
import { applyCatalog, previewCatalog } from '../../services/catalog/apply-catalog.ts';
import { mappingId } from '../../services/catalog/update-costs.ts';
import { compareWithPriceList } from '../../services/catalog/compare-prices.ts';
import { readCatalog } from '../../services/catalog/load-catalog.ts';
import { versionOfCatalog, versionOfEntry } from '../../services/catalog/entry-version.ts';
import { creditValueOf } from '../../services/ledger/credit-value.ts';
import { findPlanRules } from '../../services/plans/show-plan.ts';
import { UnknownToOperator } from '../../services/operator-error.ts';
import { listDatedModels, listModels, type DatedEntry } from '../../db/catalog/models.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { dearPrices, priceRatios } from '../../domain/catalog/price-ratios.ts';
import { entriesUnderPlan } from '../../domain/plans/price-under-plan.ts';
import { modelMargins, type Margin } from '../../domain/catalog/margins.ts';
import { modelState } from '../../domain/catalog/model-state.ts';
import { describeCombination } from '../../domain/tasks/offered-combinations.ts';
import type { ComparedMapping } from '../../domain/catalog/price-comparison.ts';
import {
  AppliedCatalog,
  CatalogCheck,
  CatalogEntrySchema,
  CatalogList,
  ComparedPrices,
  VersionedEntry,
} from '../schemas/catalog.ts';
import { flag, group, option, readFrom, action } from '../define-action.ts';
import { rawText, shortText } from '../input.ts';
import { wholeListInput } from '../list-input.ts';
import { planName } from '../plan-name.ts';
import { oneLine, table, usd } from '../plain-text.ts';
import { priceRatioTable } from '../price-ratio-table.ts';
import { priceText } from '../price-text.ts';
import { modelsAction } from './list-models.ts';
import { repriceAction } from './reprice-catalog.ts';
import { setModelAction } from './set-model.ts';
import { listReport, withDocument, type ListReport } from '../report.ts';
import { sortColumnsOf, wholeList } from '../whole-list.ts';
import type { ActionDeps } from '../action-deps.ts';
import { shownCredits } from '../shown-credits.ts';

/** `tollgate catalog …`: the models on offer. */
export const catalogActions = group('the models on offer, with their prices', () => ({
  check,
  compare,
  reprice: repriceAction,
  apply,
  set: setModelAction,
  list,
  models: modelsAction,
  show,
}));

/** The text of a catalog, or of each of its files. */
const content = readFrom(
  'catalog',
  z
    .union([z.string(), z.array(z.strictObject({ file: z.string().optional(), text: z.string() }))])
    .transform((input) => (typeof input === 'string' ? [{ text: input }] : input)),
).describe('YAML file with the catalog, or a folder with several');

const check = action({
  summary:
    'report the errors of a catalog and what each model earns; exits 1 if a request costs more than the client pays, and warns above 5 times its cost',
  input: {
    catalog: content,
    plan: option('<name>', planName.optional()).describe('with the prices of this plan of the installation'),
  },
  example: { catalog: 'models: []' },
  route: { method: 'POST', path: '/catalog/check', role: 'viewer' },
  answer: CatalogCheck,
  refusals: ['not_found'],
  needs: 'catalogSettings',
  async run({ config, db, openDatabase }, { catalog: texts, plan }) {
    const { entries: read, warnings: findings } = readCatalog(texts);
    const opened = plan === undefined ? db : await openDatabase();
    const entries = opened && plan !== undefined ? entriesUnderPlan(read, await findPlanRules(opened, plan)) : read;
    const creditValueMicroUsd = await creditValueOf({ config, db: opened });
    const warnings = [...findings, ...entries.flatMap((entry) => dearPrices(entry, creditValueMicroUsd))];
    const models = entries.map((entry) => ({ entry, ...modelMargins(entry, creditValueMicroUsd) }));
    const losses = models.flatMap(({ entry, losses: own }) => own.map((loss) => ({ model: entry.model.id, loss })));
    const data = models.map(({ entry, margins, losses: own }) => ({
      model: entry.model.id,
      type: entry.model.type,
      status: entry.model.status,
      state: modelState(entry.model, entry.private),
      loss_ok: lossReasons(entry),
      margins: margins.map(marginDocument),
      ratios: priceRatios(entry, creditValueMicroUsd).map(({ kind: _, ...ratios }) => ratios),
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
        priceRatioTable(entries, creditValueMicroUsd),
        '',
        `The catalog is valid: ${entries.length} models. A credit is worth ${usd(creditValueMicroUsd)} USD.`,
        ...(plan === undefined ? [] : [`The prices are those of the plan ${plan}.`]),
        ...warningLines(warnings),
        ...entries.flatMap((entry) =>
          Object.entries(lossReasons(entry)).map(
            ([family, why]) => `loss_ok: ${entry.model.id} at ${family}: ${oneLine(why)}`,
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

const marginDocument = ({ combination, credits, price, cost, margin, ...about }: Margin) => ({
  ...about,
  asked: combination,
  credits,
  price_micro_usd: price,
  cost_micro_usd: cost,
  margin_micro_usd: margin,
});

const marginLine = (model: string, { request, unit, family, combination, credits, price, cost, margin }: Margin) => ({
  model,
  request: unit === 'request' ? request : `${request} ${unit}`,
  family,
  asked: describeCombination(combination),
  credits,
  price_usd: usd(price),
  cost_usd: usd(cost),
  margin_usd: usd(margin),
  margin: `${Math.round((100 * margin) / price)} %`,
});

const lossLine = (model: string, { unit, family, combination, price, cost }: Margin): string =>
  `${model} at ${family ?? 'any family'}, ${unit === 'request' ? '' : `${unit}, `}${describeCombination(combination)}: ` +
  `costs ${usd(cost)} USD and is sold for ${usd(price)} USD. Change the price, or say why in loss_ok.`;

const compare = action({
  summary:
    "compare the costs with LiteLLM's price list; exits 1 if one differs by more than 1 %, unless --write updates it",
  input: {
    file: rawText.optional().describe('YAML file with the catalog, or a folder with several (default: CATALOG_FILE)'),
    prices: option('<file>', rawText.describe('model_prices_and_context_window.json')),
    write: flag().describe('set the costs that differ to the listed ones, each with its source and the day'),
  },
  route: { local: 'compares two files of this machine' },
  answer: ComparedPrices,
  needs: 'catalogSettings',
  async run({ config }, { file: path = config.catalog.file, prices, write }) {
    const on = write ? new Date().toISOString().slice(0, 10) : null;
    const { mappings, updated, files } = await compareWithPriceList({ catalog: path, prices, on });
    const differing = mappings.filter(({ status }) => status === 'differs');
    const left = differing.filter((mapping) => !updated.has(mappingId(mapping)));
    const count = (status: ComparedMapping['status']) => mappings.filter((mapping) => mapping.status === status).length;
    const rows = differing.flatMap(({ model, family, key, prices: compared }) =>
      compared
        .filter(({ differs }) => differs)
        .map(({ item, ours, listed }) => ({
          model,
          family,
          key,
          item,
          ours_usd: dollars(ours),
          listed_usd: dollars(listed),
        })),
    );
    const explained = mappings.flatMap(({ status, model, family, why = '' }) =>
      status === 'explained' ? [`differs: ${model} at ${family}: ${oneLine(why)}`] : [],
    );
    const named = (status: ComparedMapping['status']) =>
      mappings.filter((mapping) => mapping.status === status).map(({ model, family }) => `${model} (${family})`);
    return {
      document: {
        ok: left.length === 0,
        ...(write && { files }),
        data: mappings.map(({ prices: compared, source: _, ...mapping }) => ({
          ...mapping,
          ...(write && { updated: updated.has(mappingId(mapping)) }),
          prices: compared.map(({ item, ours, listed, differs }) => ({
            item,
            cost_micro_usd: ours,
            listed_micro_usd: listed,
            differs,
          })),
        })),
      },
      text: [
        table(rows, 'No cost differs from the list by more than 1 %.'),
        '',
        `${count('equal')} mappings are as listed, ${explained.length} differ for a reason, ${differing.length} differ.`,
        ...explained,
        ...(updated.size > 0
          ? [`Updated: ${[...updated].join(', ')} in ${files.join(', ')}. Now see \`catalog reprice\`.`]
          : []),
        ...(write && left.length > 0
          ? [`Not updated, because the catalog has no single cost for it: ${left.map(mappingId).join(', ')}.`]
          : []),
        ...(count('unknown') > 0 ? [`Not in the list: ${named('unknown').join(', ')}.`] : []),
        ...(count('not_comparable') > 0 ? [`Priced by other units there: ${named('not_comparable').join(', ')}.`] : []),
      ].join('\n'),
      refused: left.length > 0,
    };
  },
});

/** Listed prices may have fractions of a millionth. */
const dollars = (microUsd: number): string => String(Number((microUsd / 1e6).toPrecision(6)));

const apply = action({
  summary: 'check a catalog, then replace the models with it',
  input: {
    catalog: content,
    version: option('<version>', shortText.optional()).describe(
      'only if the catalog still has this version, as "catalog list --json" shows it',
    ),
    dryRun: flag().describe('show what would change, and change nothing'),
  },
  example: { catalog: 'models: []' },
  route: { method: 'PUT', path: '/catalog', role: 'operator' },
  answer: AppliedCatalog,
  refusals: ['action_refused', 'version_conflict'],
  needs: 'database',
  async run(deps, { catalog: texts, version: based, dryRun }, actor) {
    if (dryRun) return previewReport(await previewCatalog(deps, { texts }));
    const applied = await applyCatalog(deps, { texts, version: based, actor });
    const changes = (['added', 'changed', 'removed'] as const).filter((change) => applied[change].length > 0);
    const lines = changes.map((change) => `${change}: ${applied[change].join(', ')}`);
    return {
      document: applied,
      text: [...(lines.length > 0 ? lines : ['Nothing changed.']), ...warningLines(applied.warnings)].join('\n'),
    };
  },
});

function previewReport(preview: Awaited<ReturnType<typeof previewCatalog>>) {
  const { differences, warnings } = preview;
  const shown = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
  const lines = differences.map(({ member, before, after }) => ({
    member,
    before: shown(before),
    after: shown(after),
  }));
  const text = [table(lines, 'Nothing would change.'), ...warningLines(warnings)].join('\n');
  return { document: preview, text };
}

const list = action({
  summary: 'list the models of the catalog',
  input: wholeListInput(sortColumnsOf(CatalogEntrySchema), 'as in the catalog'),
  route: { method: 'GET', path: '/catalog', role: 'viewer' },
  answer: CatalogList,
  needs: 'database',
  run: (deps, order) => listEntries(deps, order),
});

const show = action({
  summary: 'list the models of the catalog, or show one model in full',
  input: { model: shortText.optional().describe('id of a model') },
  route: { method: 'GET', path: '/catalog/:model', role: 'viewer' },
  answer: VersionedEntry,
  localAnswer: CatalogList,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { model }) {
    if (model === undefined) return listEntries(deps);
    const entry = (await listModels(deps.db)).find((candidate) => candidate.model.id === model);
    if (!entry) throw new UnknownToOperator(`The catalog has no model ${model}.`);
    const document = {
      ...toDocument(entry),
      version: versionOfEntry(entry),
      state: modelState(entry.model, entry.private),
    };
    return { document, text: JSON.stringify(document, null, 2) };
  },
});

async function listEntries(
  deps: ActionDeps['database'],
  order: Pick<Parameters<typeof wholeList>[1], 'sort' | 'createdAfter' | 'createdBefore'> = {},
): Promise<ListReport<z.input<typeof CatalogEntrySchema>>> {
  const shown = await shownCredits(deps);
  const entries = await listDatedModels(deps.db);
  const timeOf = ({ createdAt }: DatedEntry): number => createdAt;
  const report = listReport(wholeList(entries, { ...order, timeOf, toDocument }), (entry) => toLine(entry, shown), {
    list: 'catalog',
    nothing: 'The catalog is empty.',
    toDocument,
  });
  return withDocument(report, { ...report.document, version: versionOfCatalog(entries) });
}

const toLine = (entry: CatalogEntry, shown: (credits: number) => string) => ({
  id: entry.model.id,
  type: entry.model.type,
  state: modelState(entry.model, entry.private),
  status: entry.model.status,
  public: entry.private.public ? 'yes' : 'no',
  credits: priceText(entry.model, shown),
  groups: entry.private.groups.join(','),
  adapters: Object.keys(entry.private.upstream).join(','),
});

/** As in the file. */
const toDocument = (entry: CatalogEntry) => ({ ...entry.model, private: entry.private });

const warningLines = (warnings: readonly string[]): string[] =>
  warnings.map((warning) => `warning: ${oneLine(warning)}`);
