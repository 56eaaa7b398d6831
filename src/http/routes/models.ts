import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import { getOrMake } from '../../platform/get-or-make.ts';
import type { CatalogCache } from '../../caches/catalog-cache.ts';
import { findNamed, modelNotFound } from '../../services/catalog/find-model.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { isOffered, modelList, publicModel } from '../../domain/catalog/model-list.ts';
import { isAllowed } from '../../domain/catalog/model-names.ts';
import { GatewayError } from '../../domain/errors.ts';
import { keyOf, type AppContext } from '../context.ts';
import { json } from '../description.ts';
import { anthropicModels } from '../dialects/anthropic/anthropic-models.ts';
import { geminiModels } from '../dialects/gemini/gemini-models.ts';
import { beta, geminiPages, vendorPages, type ModelForm, type ModelQuery } from '../dialects/model-form.ts';
import { openaiModels } from '../dialects/openai/openai-models.ts';
import { ModelSchema, ModelList } from '../openapi/schemas/model.ts';
import { GeminiModel, GeminiModels, VendorModel, VendorModels } from '../openapi/schemas/vendor-models.ts';
import { answerRepresentation, type Representation } from '../response/etag.ts';
import { demandSupportedQuery } from '../request/query.ts';
import { answerCoded, perCatalog, renderCoded, renderJson, type CodedBody } from '../response/representations.ts';
import { endpoint, type Route } from '../route.ts';
import { vendorOf } from '../vendor.ts';
import { modelInPath, versioned } from './common-descriptions.ts';
import { anyScope, getRow } from './common-rows.ts';

interface ModelDeps {
  catalog: CatalogCache;
}

/** The models in the platform's own form (spec §4.1). */
export const modelRoutes = (deps: ModelDeps): Route[] => [
  endpoint({
    ...getRow('/api/v1/models', anyScope),
    isList: true,
    summary: 'List the models',
    description:
      'Active models that the key may use, with their types, prices and parameters. `Accept-Encoding` may name `br`, `zstd` or `gzip`.',
    tag: 'Models',
    answers: versioned('The models.', json(ModelList)),
    handler: modelListHandler(deps),
  }),
  endpoint({
    ...getRow('/api/v1/models/:model', anyScope),
    summary: 'Read a model',
    tag: 'Models',
    ...modelInPath('The id of a model.'),
    answers: versioned('The model.', json(ModelSchema)),
    errors: ['model_not_found'],
    handler: showModel(deps),
  }),
];

const vendorForms = { openai: openaiModels, anthropic: anthropicModels, gemini: geminiModels };
const formOfVendor = ({ req }: AppContext): ModelForm => vendorForms[vendorOf(req)];

/** The models under `/v1` in the form of the vendor whose SDK asks. A model is shown by every name that a request may have. */
export const vendorModelRoutes = (deps: ModelDeps): Route[] => [
  endpoint({
    ...getRow('/v1/models', anyScope),
    isList: true,
    dialectBy: vendorOf,
    summary: "List the models, in the shape of the client's vendor",
    description: "OpenAI's shape; Anthropic's with an `anthropic-version` header, Google's with `x-goog-api-key`.",
    tag: 'Models',
    query: vendorPages,
    answers: versioned('The models.', json(VendorModels)),
    handler: modelListHandler(deps, formOfVendor),
  }),
  endpoint({
    ...getRow('/v1/models/:model', anyScope),
    dialectBy: vendorOf,
    query: { beta },
    summary: "Read a model, in the shape of the client's vendor",
    tag: 'Models',
    ...modelInPath('The id of a model.'),
    answers: versioned('The model.', json(VendorModel)),
    errors: ['model_not_found'],
    handler: showModel(deps, formOfVendor, { allAliases: true }),
  }),
];

/** Google's list of models under one prefix. The address of an action looks like that of a model, and takes POST only. */
export const geminiModelRoutes = (
  deps: ModelDeps,
  { prefix, actions, allAliases }: { prefix: string; actions: readonly string[]; allAliases: boolean },
): Route[] => {
  const show = showModel(deps, () => geminiModels, { allAliases });
  return [
    endpoint({
      ...getRow(`${prefix}/models`, anyScope),
      dialect: 'gemini',
      isList: true,
      summary: 'List the models, for SDKs of Google',
      description: 'The models that generateContent takes.',
      tag: 'Gemini',
      query: geminiPages,
      answers: versioned('The models.', json(GeminiModels)),
      handler: modelListHandler(deps, () => geminiModels),
    }),
    endpoint({
      ...getRow(`${prefix}/models/:model`, anyScope),
      dialect: 'gemini',
      summary: 'Read a model, for SDKs of Google',
      tag: 'Gemini',
      ...modelInPath('The id of a model.'),
      answers: versioned('The model.', json(GeminiModel)),
      errors: ['model_not_found'],
      async handler(ctx) {
        if (!actions.some((action) => ctx.params['model']?.endsWith(`:${action}`))) return show(ctx);
        ctx.set('allow', 'POST');
        throw new GatewayError('method_not_allowed');
      },
    }),
  ];
};

/** The form of the models by the request, because SDKs of several vendors read them at the same address. */
type FormOf = (ctx: AppContext) => ModelForm;

/** How many lists are kept, by form, query, allowlist and day. Beyond it the least recently used is dropped. */
const renderedMax = 100;
const dayMs = 86_400_000;

/**
 * A list is serialised once per catalog, allowlist and page, and compressed once if it is the whole list. Each representation has an ETag of
 * its own.
 */
const modelListHandler = ({ catalog }: ModelDeps, formOf: FormOf = () => nativeModels) => {
  const rendered = perCatalog(() => new LRUCache<string, CodedBody>({ max: renderedMax }));
  return async (ctx: AppContext, query: ModelQuery): Promise<void> => {
    const form = formOf(ctx);
    demandSupportedQuery(ctx, form.query);
    const { models, plan } = keyOf(ctx);
    const entries = await catalog.under(plan).entries();
    // A model may end with the day.
    const day = Math.floor(Date.now() / dayMs);
    const name = JSON.stringify([form.name, ctx.querystring, models && [...models].sort(), day]);
    const list = getOrMake(rendered(entries), name, () => {
      const mayUse = entries.filter((entry) => isUsable(entry, models) && form.shows(entry));
      const plain = renderJson(form.list(mayUse, query));
      // A page is one of thousands that a client may ask for. To compress it takes half a second of a thread that others need.
      return ctx.querystring === '' ? renderCoded(plain) : { plain, coded: Promise.resolve(new Map()) };
    });
    await answerCoded(ctx, list);
  };
};

/** A chat model is also found by an alias, and then shown under that name; with `allAliases` an image or video model, too. */
const showModel = ({ catalog }: ModelDeps, formOf: FormOf = () => nativeModels, { allAliases = false } = {}) => {
  const rendered = perCatalog(() => new Map<string, Representation>());
  return async (ctx: AppContext): Promise<void> => {
    const form = formOf(ctx);
    const id = ctx.params['model'] ?? '';
    const { models, plan } = keyOf(ctx);
    const priced = catalog.under(plan);
    const entries = await priced.entries();
    const entry = await findNamed(priced, id, { allAliases });
    if (!entry || !isUsable(entry, models) || !form.shows(entry)) {
      throw modelNotFound(
        id,
        entries.filter((one) => form.shows(one)),
        { models },
      );
    }
    const name = `${form.name} ${id}`;
    const representation = rendered(entries).get(name) ?? renderJson(form.one(namedAs(entry, id)));
    rendered(entries).set(name, representation);
    answerRepresentation(ctx, representation);
  };
};

/** The platform's own form: the entries of the catalog. */
const nativeModels: ModelForm<z.input<typeof ModelList>, z.input<typeof ModelSchema>> = {
  name: 'native',
  query: [],
  shows: () => true,
  list: (entries) => modelList(entries),
  one: publicModel,
};

const isUsable = (entry: CatalogEntry, models: readonly string[] | null): boolean =>
  isOffered(entry) && isAllowed(models, entry);

const namedAs = (entry: CatalogEntry, id: string): CatalogEntry =>
  entry.model.id === id ? entry : { ...entry, model: { ...entry.model, id } };
