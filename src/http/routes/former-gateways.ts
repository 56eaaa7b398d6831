import { z } from 'zod';
import type { CatalogCache } from '../../caches/catalog-cache.ts';
import type { Deps } from '../../deps.ts';
import { hasCapability, type CatalogEntry } from '../../domain/catalog/catalog.ts';
import { chatFirst, isOffered } from '../../domain/catalog/model-list.ts';
import { isAllowed, allNamesOf } from '../../domain/catalog/model-names.ts';
import { creditValueOf } from '../../services/ledger/credit-value.ts';
import { readFormerBilling } from '../../services/projects/former-billing.ts';
import { keyOf, type AppContext } from '../context.ts';
import { json } from '../description.ts';
import { queryText } from '../request/query.ts';
import { endpoint, type Route } from '../route.ts';
import { anyScope, getRow } from './common-rows.ts';

type FormerDeps = Pick<Deps, 'db' | 'config'> & { catalog: CatalogCache };

/** Of one-api and new-api: what they count is worth a 500,000th of a US dollar. */
const quotaPerUsd = 500_000;

const tag = 'Account';

/**
 * What clients of one-api, new-api and LiteLLM ask beside the routes of vendors, in the shapes of those gateways (one-api
 * `controller/billing.go`, new-api `controller/token.go`, LiteLLM `/key/info` and `/model/info`, read 2026-11-26).
 */
export const formerGatewayRoutes = (deps: FormerDeps): Route[] => [
  ...['/dashboard/billing/subscription', '/v1/dashboard/billing/subscription'].map((path) =>
    endpoint({
      ...getRow(path, anyScope),
      tag,
      summary: 'Read the limit of the key, for clients of one-api and new-api',
      answers: { 200: { description: 'Used and left together, in US dollars.', content: json(Subscription) } },
      async handler(ctx) {
        const { facts, usedUsd, leftUsd } = await readFormerBilling(deps, keyOf(ctx).keyId);
        const limit = usedUsd + leftUsd;
        return {
          object: 'billing_subscription',
          has_payment_method: true,
          soft_limit_usd: limit,
          hard_limit_usd: limit,
          system_hard_limit_usd: limit,
          access_until: facts.expiresAt ?? 0,
        };
      },
    }),
  ),
  ...['/dashboard/billing/usage', '/v1/dashboard/billing/usage'].map((path) =>
    endpoint({
      ...getRow(path, anyScope),
      tag,
      summary: 'Read what the key has spent, for clients of one-api and new-api',
      query: { start_date: queryText('Changes nothing.'), end_date: queryText('Changes nothing.') },
      answers: { 200: { description: 'Spent over the life of the key, in US cents.', content: json(Spent) } },
      async handler(ctx) {
        const { usedUsd } = await readFormerBilling(deps, keyOf(ctx).keyId);
        return { object: 'list', total_usage: usedUsd * 100 };
      },
    }),
  ),
  ...['/api/usage/token', '/api/usage/token/'].map((path) => tokenUsage(deps, path)),
  endpoint({
    ...getRow('/key/info', anyScope),
    tag,
    summary: 'Read the key of the request, for clients of LiteLLM',
    answers: { 200: { description: 'The key.', content: json(KeyInfo) } },
    handler: (ctx) => showKeyInfo(deps, ctx),
  }),
  ...['/model/info', '/v1/model/info'].map((path) =>
    endpoint({
      ...getRow(path, anyScope),
      isList: true,
      tag: 'Models',
      summary: 'List the models with their prices, for clients of LiteLLM',
      answers: { 200: { description: 'The models.', content: json(ModelInfos) } },
      handler: (ctx) => listModelInfos(deps, ctx),
    }),
  ),
];

const Subscription = z.object({
  object: z.literal('billing_subscription'),
  has_payment_method: z.boolean(),
  soft_limit_usd: z.number(),
  hard_limit_usd: z.number(),
  system_hard_limit_usd: z.number(),
  access_until: z.int(),
});
const Spent = z.object({ object: z.literal('list'), total_usage: z.number() });
const QuotaUsage = z.object({
  code: z.literal(true),
  message: z.literal('ok'),
  data: z.object({
    object: z.literal('token_usage'),
    name: z.string(),
    total_granted: z.int(),
    total_used: z.int(),
    total_available: z.int(),
    unlimited_quota: z.boolean(),
    model_limits: z.record(z.string(), z.literal(true)),
    model_limits_enabled: z.boolean(),
    expires_at: z.int(),
  }),
});
const KeyInfo = z.object({
  key: z.string(),
  info: z.object({
    key_name: z.string(),
    key_alias: z.string(),
    spend: z.number(),
    max_budget: z.number().nullable(),
    expires: z.string().nullable(),
    models: z.array(z.string()),
    team_id: z.string(),
    rpm_limit: z.int().nullable(),
    max_parallel_requests: z.int().nullable(),
    metadata: z.record(z.string(), z.string()),
    blocked: z.literal(false),
  }),
});
const ModelInfos = z.object({
  data: z.array(
    z.object({
      model_name: z.string(),
      litellm_params: z.object({ model: z.string() }),
      model_info: z.object({
        id: z.string(),
        db_model: z.literal(false),
        mode: z.string(),
        max_input_tokens: z.int().nullable(),
        max_output_tokens: z.int().nullable(),
        input_cost_per_token: z.number().nullable(),
        output_cost_per_token: z.number().nullable(),
        cache_read_input_token_cost: z.number().nullable(),
        cache_creation_input_token_cost: z.number().nullable(),
        supports_function_calling: z.boolean(),
        supports_vision: z.boolean(),
        supports_prompt_caching: z.boolean(),
        supports_reasoning: z.boolean(),
      }),
    }),
  ),
});

const tokenUsage = (deps: FormerDeps, path: string): Route =>
  endpoint({
    ...getRow(path, anyScope),
    ...(path.endsWith('/') && { id: 'get_api_usage_token_with_slash' }),
    tag,
    summary: 'Read what the key has used and has left, for clients of new-api',
    answers: { 200: { description: 'In its quota: 500,000 are a US dollar.', content: json(QuotaUsage) } },
    async handler(ctx) {
      const { facts, usedUsd, leftUsd, isUnlimited } = await readFormerBilling(deps, keyOf(ctx).keyId);
      const quotaOf = (usd: number): number => Math.floor(Number((usd * quotaPerUsd).toFixed(3)));
      return {
        code: true,
        message: 'ok',
        data: {
          object: 'token_usage',
          name: facts.name,
          total_granted: quotaOf(usedUsd) + quotaOf(leftUsd),
          total_used: quotaOf(usedUsd),
          total_available: quotaOf(leftUsd),
          unlimited_quota: isUnlimited,
          model_limits: Object.fromEntries((facts.models ?? []).map((model) => [model, true as const])),
          model_limits_enabled: facts.models !== null,
          expires_at: facts.expiresAt ?? 0,
        },
      };
    },
  });

async function showKeyInfo(deps: FormerDeps, ctx: AppContext): Promise<z.input<typeof KeyInfo>> {
  const { facts, usedUsd, leftUsd, isUnlimited } = await readFormerBilling(deps, keyOf(ctx).keyId);
  return {
    key: facts.keyId,
    info: {
      key_name: facts.name,
      key_alias: facts.name,
      spend: usedUsd,
      max_budget: isUnlimited ? null : usedUsd + leftUsd,
      expires: facts.expiresAt === null ? null : new Date(facts.expiresAt * 1_000).toISOString(),
      models: facts.models ?? [],
      team_id: facts.projectId,
      rpm_limit: facts.rpm,
      max_parallel_requests: facts.inFlightMax,
      metadata: facts.metadata,
      blocked: false,
    },
  };
}

async function listModelInfos(deps: FormerDeps, ctx: AppContext): Promise<z.input<typeof ModelInfos>> {
  const { models, plan } = keyOf(ctx);
  const creditUsd = (await creditValueOf(deps)) / 1_000_000;
  const entries = await deps.catalog.under(plan).entries();
  const usable = chatFirst(entries).filter((entry) => isOffered(entry) && isAllowed(models, entry));
  return { data: usable.flatMap((entry) => namesIn(entry).map((name) => modelInfo(entry, name, creditUsd))) };
}

/** A chat model is found by its aliases, too. */
const namesIn = (entry: CatalogEntry): string[] => (entry.model.type === 'chat' ? allNamesOf(entry) : [entry.model.id]);

function modelInfo(
  { model, private: hidden }: CatalogEntry,
  name: string,
  creditUsd: number,
): z.input<typeof ModelInfos>['data'][number] {
  const isChat = model.type === 'chat';
  const perToken = (creditsPer1k: number | undefined): number | null =>
    isChat && creditsPer1k !== undefined ? (creditsPer1k * creditUsd) / 1_000 : null;
  const { pricing } = model;
  const cached = pricing.credits_per_1k_cached_input_tokens;
  return {
    model_name: name,
    litellm_params: { model: name },
    model_info: {
      id: model.id,
      db_model: false,
      mode: isChat ? 'chat' : `${model.type}_generation`,
      max_input_tokens: hidden.context_tokens,
      max_output_tokens: hidden.max_output_tokens ?? null,
      input_cost_per_token: perToken(pricing.credits_per_1k_input_tokens),
      output_cost_per_token: perToken(pricing.credits_per_1k_output_tokens),
      cache_read_input_token_cost: perToken(cached),
      cache_creation_input_token_cost: perToken(pricing.credits_per_1k_cache_write_tokens),
      supports_function_calling: isChat,
      supports_vision: isChat && model.parameters.image === true,
      // Without it Roo Code and Cline do not mark what a provider may cache.
      supports_prompt_caching: isChat && cached !== undefined,
      supports_reasoning: hasCapability(model, 'reasoning'),
    },
  };
}
