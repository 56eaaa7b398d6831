import type { CatalogEntry, Model } from '../../domain/catalog/catalog.ts';
import type { PricingRule } from '../../domain/catalog/price-schema.ts';
import type { JsonObject } from '../../domain/json.ts';
import { inputRule } from '../../domain/tasks/input-rule.ts';
import {
  acceptedParameters,
  listValues,
  promptCharactersMax,
  type AcceptedParameter,
} from '../../domain/catalog/parameters.ts';
import { mediaInputKeys, type MediaInputKey } from '../../domain/catalog/parameter-value.ts';
import { taskOptionSchemas } from '../../domain/tasks/task-options.ts';
import type { TaskType } from '../../domain/tasks/task.ts';
import type { Catalog, NamedSchemas } from '../description.ts';

/**
 * The body that creates a task: one schema for each model of the type, chosen by `model`. It is made from the same rules of the
 * catalog by which `resolveMediaRequest` checks a body. `deadlineSecondsMax` is the limit of the type.
 */
export function createBody(
  catalog: Catalog,
  type: TaskType,
  named: NamedSchemas,
  deadlineSecondsMax: number,
): JsonObject {
  const envelope = envelopeWith(deadlineSecondsMax);
  const entries = catalog.filter(({ model }) => model.type === type);
  const refs = entries.map((entry) => {
    const name = `Create_${entry.model.id}`;
    named.set(name, modelBody(entry, envelope));
    return [entry.model.id, `#/components/schemas/${name}`] as const;
  });
  if (refs.length === 0) return anyModelBody(envelope);
  return {
    oneOf: refs.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'model', mapping: Object.fromEntries(refs) },
  };
}

const prompt = { type: 'string', minLength: 1, maxLength: promptCharactersMax, pattern: '\\S' };

/** What a request says about its task, not to the model. */
const envelopeWith = (deadlineSecondsMax: number): JsonObject => ({
  callback_url: {
    type: ['string', 'null'],
    format: 'uri',
    pattern: '^https://',
    description: 'A public https URL. The task is sent to it when it has ended.',
  },
  ...taskOptionSchemas(deadlineSecondsMax),
});

/** Without a catalog: what every model takes. */
const anyModelBody = (envelope: JsonObject): JsonObject => ({
  type: 'object',
  properties: { model: { type: 'string' }, prompt, ...envelope },
  required: ['model', 'prompt'],
});

function modelBody(entry: CatalogEntry, envelope: JsonObject): JsonObject {
  const { model, private: hidden } = entry;
  const properties: JsonObject = { model: { const: model.id }, prompt };
  if (model.parameters.negative_prompt === true) {
    properties.negative_prompt = { type: ['string', 'null'], maxLength: promptCharactersMax };
  }
  for (const key of mediaInputKeys) {
    if (model.parameters[key] === true) properties[key] = inputSchema(key, hidden.reference_images_max);
  }
  const fields = new Map((model.parameters.fields ?? []).map((field) => [field.key, field]));
  for (const [key, accepted] of acceptedParameters(entry)) {
    const field = fields.get(key);
    const description = [field?.label, field?.description].filter(Boolean).join('. ');
    properties[key] = { ...parameterSchema(accepted), ...(description !== '' && { description }) };
    if (key === hidden.variant_field) {
      properties.variant = { ...parameterSchema(accepted), description: `The same setting as ${key}.` };
    }
  }
  return {
    type: 'object',
    title: model.display_name,
    description: prices(model),
    properties: { ...properties, ...envelope },
    required: ['model', 'prompt'],
    additionalProperties: false,
  };
}

/** Null in an optional field means absent. */
function parameterSchema(accepted: AcceptedParameter): JsonObject {
  const values = listValues(accepted, 100);
  const allowed: JsonObject =
    accepted.kind === 'range' && values === undefined
      ? { type: ['number', 'null'], minimum: accepted.min, maximum: accepted.max }
      : { enum: [...(values ?? []), null] };
  return { ...allowed, ...(accepted.default !== undefined && { default: accepted.default }) };
}

function inputSchema(key: MediaInputKey, referencesMax: number): JsonObject {
  const { kind, maxBytes } = inputRule(key);
  const description = `${kindNames[kind]} of up to ${maxBytes / 1e6} MB: a public https URL, the \`file_…\` id of an upload, or a base64 data URI.`;
  const input = { type: 'string', pattern: '^(https://|file_|data:)' };
  if (key !== 'reference_images') return { ...input, type: ['string', 'null'], description };
  return { type: ['array', 'null'], items: input, minItems: 1, maxItems: referencesMax, description };
}

const kindNames = { image: 'A picture', video: 'A video', audio: 'A sound file' };

function prices({ pricing, parameters }: Model): string {
  const [first, ...rules] = parameters.pricingRules ?? [];
  if (first === undefined) return `${pricing.credits_per_request} credits.`;
  const others = rules.map(({ match, credits }) => `${credits} with ${match.value}${further(match)}`);
  const { key, value } = first.match;
  return `${[`${first.credits} credits with ${key} ${value}${further(first.match)}`, ...others].join(', ')}.`;
}

const further = ({ all = [] }: PricingRule['match']): string =>
  all.map(({ key, value }) => ` and ${key} ${value}`).join('');
