import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import type { JsonObject } from '../../domain/json.ts';
import { listPlans, type PlanRow } from '../../db/plans/plans.ts';
import { modelState } from '../../domain/catalog/model-state.ts';
import type { PlanRule } from '../../domain/plans/plan.ts';
import { deletePlan } from '../../services/plans/delete-plan.ts';
import { readPlanRules } from '../../services/plans/read-plan-rules.ts';
import { createPlan, setPlan } from '../../services/plans/save-plan.ts';
import { showPlan, type PlannedModel } from '../../services/plans/show-plan.ts';
import { action, group, option, readFrom } from '../define-action.ts';
import { wholeListInput } from '../list-input.ts';
import { oneLine, factText, table, time } from '../plain-text.ts';
import { planName } from '../plan-name.ts';
import { priceText } from '../price-text.ts';
import { factsReport, jsonRow, listReport } from '../report.ts';
import { shownCredits } from '../shown-credits.ts';
import { sortColumnsOf, wholeList } from '../whole-list.ts';
import { ChangedPlan, DeletedPlan, PlanSchema, PlanPreview, SavedPlan } from '../schemas/plans.ts';

/** `tollgate plans …`: prices for projects. */
export const planActions = group('plans, by which projects have prices of their own', () => ({
  create,
  list,
  show,
  set,
  delete: remove,
}));

const rules = readFrom(
  'rules',
  option(
    '<file>',
    z
      .unknown()
      .refine((input) => input !== undefined, 'is required')
      .transform((input, context): PlanRule[] => {
        const read = readPlanRules(input);
        if ('rules' in read) return read.rules;
        context.addIssue({ code: 'custom', message: read.problem });
        return z.NEVER;
      }),
  ),
).describe(
  'JSON or YAML file with a list of rules, {"models": "glob", "multiplier": 1.25} or {"models": "glob", "prices": {"credits_per_1k_input_tokens": 200}}; the first that matches decides; models may also be group:, type: or vendor: and a glob',
);

const exampleRules: JsonObject[] = [
  { models: 'gpt-6-luna', prices: { credits_per_1k_input_tokens: 200 } },
  { models: 'type:chat', multiplier: 1.25 },
];

const name = planName.describe('name of the plan');

const create = action({
  summary: 'create a plan',
  input: { name: option('<name>', planName).describe('name of the plan'), rules },
  example: { name: 'partners', rules: exampleRules },
  route: { method: 'POST', path: '/plans', role: 'operator' },
  answer: SavedPlan,
  refusals: ['action_refused'],
  needs: 'database',
  async run(deps, plan, actor) {
    const { warnings } = await createPlan(deps, { ...plan, actor });
    return savedReport(`Created the plan ${plan.name}. Give it to projects with projects set --plan.`, plan, warnings);
  },
});

const set = action({
  summary: 'replace the rules of a plan; what is already held keeps its price',
  input: { name, rules },
  example: { rules: exampleRules },
  route: { method: 'PATCH', path: '/plans/:name', role: 'operator', resource: 'plan' },
  answer: ChangedPlan,
  refusals: ['not_found', 'action_refused', 'version_conflict'],
  needs: 'database',
  async run(deps, plan, actor) {
    const { changed, warnings } = await setPlan(deps, { ...plan, actor });
    const sentence = changed
      ? `Changed the plan ${plan.name}.`
      : `The plan ${plan.name} has these rules. Nothing changed.`;
    const { document, text } = savedReport(sentence, plan, warnings);
    return { document: { ...document, changed }, text };
  },
});

function savedReport(sentence: string, saved: { name: string; rules: PlanRule[] }, warnings: string[]) {
  const about = { name: saved.name, rules: saved.rules };
  return factsReport(sentence, about, { shown: { rules: about.rules.length }, warnings });
}

const list = action({
  summary: 'list the plans',
  input: wholeListInput(sortColumnsOf(PlanSchema), 'by name'),
  route: { method: 'GET', path: '/plans', role: 'viewer' },
  answer: listOf(PlanSchema),
  needs: 'database',
  async run({ db }, order) {
    const toLine = (row: PlanRow) => ({
      name: row.name,
      rules: row.rules.length,
      projects: row.projects,
      updated_at: time(row.updatedAt),
    });
    return listReport(
      wholeList(await listPlans(db), { ...order, timeOf: ({ createdAt }) => createdAt, toDocument }),
      toLine,
      {
        list: 'plans',
        nothing: 'There are no plans. Every project has the prices of the catalog.',
        toDocument,
      },
    );
  },
});

const toDocument = ({ revision: _revision, rules: own, ...row }: PlanRow) => ({ ...jsonRow(row), rules: [...own] });

const show = action({
  summary: 'show a plan, the price of every model under it, and the rules that can never match',
  input: { name },
  route: { method: 'GET', path: '/plans/:name', role: 'viewer', resource: 'plan' },
  answer: PlanPreview,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { name: requested }) {
    const { plan, models, unused } = await showPlan(deps, requested);
    const shown = await shownCredits(deps);
    const { rules: own, ...about } = toDocument(plan);
    const ruleLines = own.map((rule, index) => ({ rule: index + 1, models: rule.models, price: ruleText(rule) }));
    return {
      document: { ...about, rules: own, models: models.map(previewOf), unused },
      text: [
        factText({ ...about, created_at: time(about.created_at), updated_at: time(about.updated_at) }),
        table(ruleLines),
        table(
          models.map((model) => previewLine(model, shown)),
          'The catalog is empty.',
        ),
        ...unused.map(({ message }) => `Warning: ${oneLine(message)}`),
      ].join('\n\n'),
    };
  },
});

const ruleText = (rule: PlanRule): string =>
  'multiplier' in rule ? `× ${rule.multiplier}` : JSON.stringify(rule.prices);

const previewOf = ({ base, planned, rule }: PlannedModel) => ({
  model: base.model.id,
  type: base.model.type,
  status: base.model.status,
  state: modelState(base.model, base.private),
  rule,
  catalog: pricesOf(base),
  plan: pricesOf(planned),
});

const pricesOf = ({ model: { pricing, parameters } }: PlannedModel['base']) => ({
  pricing,
  ...(parameters.pricingRules && { pricingRules: parameters.pricingRules }),
});

const previewLine = ({ base, planned, rule }: PlannedModel, shown: (credits: number) => string) => ({
  model: base.model.id,
  type: base.model.type,
  state: modelState(base.model, base.private),
  rule,
  catalog: priceText(base.model, shown),
  plan: priceText(planned.model, shown),
});

const remove = action({
  summary: 'delete a plan that no project has',
  input: { name },
  route: { method: 'POST', path: '/plans/:name/delete', role: 'operator', resource: 'plan' },
  answer: DeletedPlan,
  refusals: ['not_found', 'action_refused', 'version_conflict'],
  needs: 'database',
  async run(deps, { name: requested }, actor) {
    await deletePlan(deps, { name: requested, actor });
    return { document: { name: requested, deleted: true as const }, text: `Deleted the plan ${requested}.` };
  },
});
