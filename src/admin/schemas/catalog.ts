import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { ReadEntry } from '../../domain/catalog/catalog.ts';
import { changed } from './changed.ts';

export const modelStateOf = z
  .string()
  .describe('retired, hidden, ending while its end is announced by a day or by its status, or else the status.');

/** What a list of models shows of each. */
export const ModelRow = z
  .object({
    id: z.string(),
    display_name: z.string(),
    owned_by: z.string(),
    type: ReadEntry.shape.type,
    state: modelStateOf,
    ends_on: z.string().nullable().describe('The first day (UTC) on which it is not sold any more.'),
    pricing: ReadEntry.shape.pricing,
    lowest_credits: z.int().nullable().describe('Of a request for media.'),
    highest_credits: z.int().nullable(),
    smallest_margin: z.number().nullable().describe('Of all requests, as a share of the price. Null if none is known.'),
    names: z
      .array(z.string())
      .describe("By which a key's list of models may have it: its id and, of a chat model, its aliases."),
  })
  .meta({ id: 'ModelRow' });

export const ShortModelList = listOf(ModelRow).extend({
  losing: z
    .array(z.object({ id: z.string(), display_name: z.string() }))
    .describe('Every model of the catalog that has requests which cost more than they earn.'),
  groups: z.array(z.string()).describe('Every group of the catalog.'),
});

/** A model with what clients do not see. */
export const CatalogEntrySchema = ReadEntry.meta({ id: 'CatalogEntry' });

/** The list of models, which also is a catalog to apply. */
export const CatalogList = listOf(CatalogEntrySchema).extend({
  version: z.string().describe('The version of the whole catalog, which `catalog apply` may name.'),
});

export const VersionedEntry = ReadEntry.extend({
  version: z.string().describe('The version of this model, which `catalog set` may name.'),
  state: modelStateOf,
}).meta({ id: 'VersionedCatalogEntry' });

const microUsd = z.int().describe('Micro-USD.');

const MarginSchema = z
  .object({
    request: z
      .enum(['cheapest', 'dearest', 'minimum'])
      .describe('Of the requests of one `unit`, by their cost, or by their price where all cost the same.'),
    unit: z.enum(['request', '1,000 input tokens', '1,000 output tokens']),
    family: z.string().nullable().describe('Null for the minimum of a chat, which no family decides.'),
    asked: z.record(z.string(), z.unknown()).describe('The parameters that decide about the price and the cost.'),
    credits: z.int(),
    price_micro_usd: microUsd,
    cost_micro_usd: microUsd,
    margin_micro_usd: microUsd,
  })
  .meta({ id: 'Margin' });

const times = z.number().nullable().describe('Price ÷ cost at the dearest family. Null where it costs nothing.');
const Ratios = z
  .union([
    z.strictObject({
      above: z.int().nullable().describe('For requests with more tokens of input than this. Null: for all others.'),
      input: times,
      cached_input: times,
      cache_write: times,
      output: times,
    }),
    z.strictObject({ lowest: times, highest: times }),
  ])
  .meta({ id: 'PriceRatios' });

export const CatalogCheck = z
  .object({
    ok: z.boolean().describe('False if a request costs more than the client pays.'),
    models: z.int(),
    credit_value_micro_usd: z.int(),
    losses: z.int(),
    data: z.array(
      z.object({
        model: z.string(),
        type: ReadEntry.shape.type,
        status: z.string(),
        state: modelStateOf,
        loss_ok: z.record(z.string(), z.string()).describe('Why the model may lose, by family.'),
        margins: z.array(MarginSchema),
        ratios: z.array(Ratios),
        losses: z.array(MarginSchema),
      }),
    ),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'CatalogCheck' });

const ids = z.array(z.string());
export const AppliedCatalog = z
  .object({
    added: ids,
    changed: ids,
    removed: ids,
    warnings: z.array(z.string()),
    differences: z
      .array(z.object({ member: z.string(), before: z.unknown(), after: z.unknown() }))
      .optional()
      .describe('With `dry_run`: every member that would change, such as `gpt-6-luna pricing.credits_per_request`.'),
    members_omitted: z.int().optional().describe('How many further members differ.'),
    version: z.string().optional().describe('With `dry_run`: the version of the present catalog.'),
  })
  .meta({ id: 'AppliedCatalog' });

export const SetModel = z
  .object({ model: z.string(), changed, version: z.string(), warnings: z.array(z.string()) })
  .meta({ id: 'SetModel' });

export const ComparedPrices = z.object({
  ok: z.boolean(),
  files: z.array(z.string()).optional().describe('The files that were changed, with `--write`.'),
  data: z.array(
    z.object({
      model: z.string(),
      family: z.string(),
      key: z.string().nullable(),
      status: z.enum(['equal', 'differs', 'explained', 'unknown', 'not_comparable']),
      why: z.string().optional(),
      updated: z.boolean().optional().describe('With `--write`: whether the costs are as listed now.'),
      prices: z.array(
        z.object({
          item: z.string(),
          cost_micro_usd: z.number(),
          listed_micro_usd: z.number(),
          differs: z.boolean(),
        }),
      ),
    }),
  ),
});

const credits = z.int().describe('Credits.');
export const RepricedCatalog = z.object({
  ok: z.literal(true),
  written: z.boolean().describe('False without `--write`, and if no file changes.'),
  credit_value_micro_usd: z.int(),
  files: z.array(z.string()).describe('The files that change.'),
  data: z.array(
    z.object({
      model: z.string(),
      item: z.string().describe('What is priced: 1,000 tokens of a class, a request, or the shortest chat.'),
      family: z.string().nullable().describe('Where it is dearest. Null for the shortest chat.'),
      cost_micro_usd: z.number(),
      old_credits: credits,
      new_credits: credits,
      changed: z.boolean(),
    }),
  ),
});
