import { z } from 'zod';
import { adapterFamilies } from '../../channels/registry.ts';
import type { CatalogEntry, FieldDescriptor, UpstreamMapping } from '../../domain/catalog.ts';
import { GatewayError } from '../../domain/errors.ts';
import {
  acceptedParameters,
  accepts,
  describeAccepted,
  envelopeKeys,
  listValues,
  offeredValues,
  reservedKeys,
  resolveMediaRequest,
  tuningKeys,
} from '../../domain/parameters.ts';
import type { AcceptedParameter } from '../../domain/parameters.ts';
import { mediaCredits } from '../../domain/pricing.ts';
import { canMake } from '../../domain/upstream-parameters.ts';
import { ModelParameters, strings, valuesMax } from './catalog-file-entry.ts';

/** One thing that is wrong with a catalog. `path` is where in the model's entry, as `pricing.unit`. */
export interface CatalogProblem {
  model: string;
  path: string;
  message: string;
}

/** Every rule between the members of one entry whose shape is already right (rules "Catalog"). */
export function checkCatalogEntry(entry: CatalogEntry): { problems: CatalogProblem[]; warnings: string[] } {
  const problems: CatalogProblem[] = [];
  const warnings: string[] = [];
  const { id } = entry.model;
  const finding: Finding = {
    problem: (path, message) => problems.push({ model: id, path, message }),
    warn: (path, message) => warnings.push(`${id} ${path}: ${message}`),
  };
  checkVariants(entry, finding);
  checkDescriptors(entry, finding);
  if (entry.model.type === 'chat') checkChat(entry, finding);
  else checkMedia(entry, finding);
  // Examples and presets are run for real, which tells nothing new about an entry whose parameters are already wrong.
  if (problems.length === 0) checkExamples(entry, finding);
  if (problems.length === 0) checkAliases(entry, finding);
  checkUpstream(entry, finding);
  return { problems, warnings };
}

/** Ids and legacy aliases are one name space: each name means one model. */
export function checkCatalogNames(entries: readonly CatalogEntry[]): CatalogProblem[] {
  const problems: CatalogProblem[] = [];
  const ids = new Set<string>();
  const aliases = new Set<string>();
  for (const { model } of entries) {
    if (ids.has(model.id)) problems.push({ model: model.id, path: 'id', message: 'is used by two models' });
    ids.add(model.id);
  }
  for (const { model, private: hidden } of entries) {
    for (const alias of Object.keys(hidden.aliases)) {
      const path = `private.aliases.${alias}`;
      if (ids.has(alias)) problems.push({ model: model.id, path, message: 'is also the id of a model' });
      if (aliases.has(alias)) problems.push({ model: model.id, path, message: 'is an alias of two models' });
      aliases.add(alias);
    }
  }
  return problems;
}

interface Finding {
  problem: (path: string, message: string) => void;
  warn: (path: string, message: string) => void;
}

function checkVariants({ model, private: hidden }: CatalogEntry, { problem }: Finding): void {
  const { parameters } = model;
  const field = hidden.variant_field;
  for (const member of Object.keys(parameters)) {
    if (Object.hasOwn(ModelParameters.shape, member) || member === field) continue;
    problem(`parameters.${member}`, 'is not a member of the specification, nor the private variant_field');
  }
  if (
    field !== null &&
    (reservedKeys.has(field) || tuningKeys.includes(field) || Object.hasOwn(ModelParameters.shape, field))
  ) {
    problem('private.variant_field', `"${field}" already means something else`);
    return;
  }
  const list = field === null ? undefined : parameters[field];
  if (field !== null && list !== undefined && !strings.safeParse(list).success) {
    problem(`parameters.${field}`, 'must be a list of strings');
  }
  const hasVariants = list !== undefined || (parameters.fields ?? []).some((descriptor) => descriptor.key === field);
  if ((parameters.variants === true) !== hasVariants) {
    problem('parameters.variants', 'must be true if and only if private.variant_field names a list or a descriptor');
  }
}

function checkDescriptors(entry: CatalogEntry, finding: Finding): void {
  const { parameters } = entry.model;
  const lists = [...tuningKeys, ...(entry.private.variant_field === null ? [] : [entry.private.variant_field])];
  for (const listKey of lists) {
    const list = parameters[listKey];
    if (Array.isArray(list)) refuseTwins(list, `parameters.${listKey}`, finding);
  }
  const fields = parameters.fields ?? [];
  refuseTwins(
    fields.map((field) => field.key),
    'parameters.fields',
    finding,
  );
  const accepted = acceptedParameters(entry);
  for (const field of fields) {
    const path = `parameters.fields.${field.key}`;
    checkDescriptorShape(entry, field, path, finding);
    if (entry.model.type === 'chat') continue;
    if (reservedKeys.has(field.key)) {
      finding.problem(path, 'is no tuning parameter, so a descriptor cannot describe it');
      continue;
    }
    const taken = accepted.get(field.key);
    if (taken === undefined) {
      finding.problem(path, 'describes a parameter that the flags do not switch on');
      continue;
    }
    if (taken.default !== undefined && !accepts(taken, taken.default)) {
      finding.problem(`${path}.default`, `must be ${describeAccepted(taken)}`);
    }
    compareOffer(field, taken, path, finding);
  }
}

function checkDescriptorShape(
  { model }: CatalogEntry,
  field: FieldDescriptor,
  path: string,
  { problem }: Finding,
): void {
  const { type, options, min, max, step } = field;
  const hasBounds = min !== undefined || max !== undefined || step !== undefined;
  if (type === 'enum' && (options === undefined || hasBounds))
    problem(path, 'an enum needs options and has no min, max or step');
  if (type === 'boolean' && (options !== undefined || hasBounds))
    problem(path, 'a boolean has no options, min, max or step');
  if (
    type === 'number' &&
    (options !== undefined || min === undefined || max === undefined || step === undefined || min > max)
  ) {
    problem(path, 'a number needs min, max and step, min not above max, and has no options');
  }
  if (options !== undefined) refuseTwins(options, `${path}.options`, { problem });
  if (model.type === 'chat') return;
  if ((field.key === 'generate_audio') !== (type === 'boolean') && tuningKeys.includes(field.key)) {
    problem(path, field.key === 'generate_audio' ? 'must be a boolean' : 'must not be a boolean');
  }
  if (field.key === 'duration') {
    const numbers = type === 'enum' ? (options ?? []) : [min, step];
    if (!numbers.every((value) => Number.isSafeInteger(value)) || Number(min ?? 1) < 1) {
      problem(path, 'a duration is a whole number of seconds, at least 1');
    }
  } else if (
    tuningKeys.includes(field.key) &&
    type !== 'boolean' &&
    !(options ?? [0]).every((value) => typeof value === 'string')
  ) {
    problem(path, 'must be an enum of strings');
  }
}

function refuseTwins(values: readonly unknown[], path: string, { problem }: Pick<Finding, 'problem'>): void {
  const twins = values.filter((value, index) => values.indexOf(value) !== index);
  if (twins.length > 0)
    problem(path, `lists ${[...new Set(twins)].map((value) => JSON.stringify(value)).join(', ')} twice`);
}

/** The top-level array is what is accepted, the descriptor what a form offers: a difference is worth a look, no more. */
function compareOffer(field: FieldDescriptor, taken: AcceptedParameter, path: string, { warn }: Finding): void {
  const offered = listValues(offeredValues(field), valuesMax);
  const acceptedValues = listValues(taken, valuesMax);
  if (offered === undefined || acceptedValues === undefined) return;
  const words = (values: unknown[]) => values.map((value) => JSON.stringify(value)).join(', ');
  const surplus = offered.filter((value) => !acceptedValues.includes(value));
  const missing = acceptedValues.filter((value) => !offered.includes(value));
  if (surplus.length > 0) warn(path, `offers ${words(surplus)}, which the top-level array does not accept`);
  if (missing.length > 0) warn(path, `does not offer ${words(missing)}, which the top-level array accepts`);
}

function checkMedia(entry: CatalogEntry, finding: Finding): void {
  const { problem } = finding;
  const { pricing, parameters } = entry.model;
  if (pricing.unit !== 'request') problem('pricing.unit', 'must be request for image and video models');
  if (pricing.credits_per_1k_input_tokens !== 0 || pricing.credits_per_1k_output_tokens !== 0) {
    problem('pricing', 'token prices must be 0 when the unit is request');
  }
  if (parameters.prompt !== true) problem('parameters.prompt', 'must be true: every media request has a prompt');
  for (const flagKey of ['messages', 'stream', 'temperature', 'max_tokens'] as const) {
    if (parameters[flagKey] === true) problem(`parameters.${flagKey}`, 'belongs to chat models');
  }
  if ((parameters.reference_images === true) !== entry.private.reference_images_max > 0) {
    problem('private.reference_images_max', 'must be at least 1 if and only if reference_images is true');
  }
  checkPricingRules(entry, finding);
}

function checkPricingRules(entry: CatalogEntry, { problem, warn }: Finding): void {
  const { pricing, parameters } = entry.model;
  const rules = parameters.pricingRules ?? [];
  const [first] = rules;
  if (first === undefined) {
    if (pricing.min_credits_per_request > pricing.credits_per_request) {
      problem('pricing.min_credits_per_request', 'must not be above credits_per_request');
    }
    return;
  }
  const path = 'parameters.pricingRules';
  const ruleKey = first.match.key;
  if (rules.some(({ match }) => match.key !== ruleKey)) {
    problem(path, 'must all match on one key');
    return;
  }
  const taken = acceptedParameters(entry).get(ruleKey);
  const values = taken === undefined ? undefined : listValues(taken, valuesMax);
  if (taken === undefined || values === undefined) {
    problem(
      path,
      `match on ${ruleKey}, which must have a top-level array or a descriptor with at most ${valuesMax} values`,
    );
    return;
  }
  if (taken.default === undefined) {
    problem(path, `match on ${ruleKey}, so its descriptor must give a default: a request without it needs a price`);
  }
  for (const value of values) {
    const count = rules.filter(({ match }) => match.value === value).length;
    if (count !== 1) problem(path, `must have exactly one rule for ${ruleKey} ${JSON.stringify(value)}, not ${count}`);
  }
  const idle = rules
    .filter(({ match }) => !values.includes(match.value))
    .map(({ match }) => JSON.stringify(match.value));
  if (idle.length > 0) warn(path, `${ruleKey} ${idle.join(', ')} has a price but is not accepted`);
  const lowest = Math.min(...rules.map(({ credits }) => credits));
  for (const member of ['credits_per_request', 'min_credits_per_request'] as const) {
    if (pricing[member] !== lowest) problem(`pricing.${member}`, `must equal the lowest rule, ${lowest}`);
  }
}

/** The descriptors that every chat model has (spec §2.3). */
const chatDescriptors = {
  temperature: { type: 'number', min: 0, max: 2, step: 0.1, default: 0.7 },
  max_tokens: { type: 'number', min: 16, max: 8192, step: 16, default: 1024 },
} as const;

function checkChat({ model, private: hidden }: CatalogEntry, { problem }: Finding): void {
  const { pricing, parameters } = model;
  if (pricing.unit !== 'tokens') problem('pricing.unit', 'must be tokens for chat models');
  for (const member of ['credits_per_1k_input_tokens', 'credits_per_1k_output_tokens'] as const) {
    if (pricing[member] < 1) problem(`pricing.${member}`, 'must be at least 1 for chat models');
  }
  if (parameters.stream !== false) problem('parameters.stream', 'must be false');
  for (const flagKey of ['messages', 'temperature', 'max_tokens'] as const) {
    if (parameters[flagKey] !== true) problem(`parameters.${flagKey}`, 'must be true for chat models');
  }
  const mediaOnly = [
    ...tuningKeys,
    'pricingRules',
    'video_url',
    'audio_url',
    'reference_images',
    'negative_prompt',
    'variants',
  ];
  for (const member of mediaOnly) {
    if (parameters[member] !== undefined && parameters[member] !== false) {
      problem(`parameters.${member}`, 'belongs to image and video models');
    }
  }
  const fields = parameters.fields ?? [];
  for (const [fixedKey, fixed] of Object.entries(chatDescriptors)) {
    const field = fields.find((candidate) => candidate.key === fixedKey);
    const isFixed =
      field !== undefined &&
      field.type === fixed.type &&
      field.min === fixed.min &&
      field.max === fixed.max &&
      field.step === fixed.step &&
      field.default === fixed.default;
    if (!isFixed) problem(`parameters.fields.${fixedKey}`, `must be the fixed descriptor ${JSON.stringify(fixed)}`);
  }
  for (const field of fields.filter((candidate) => !Object.hasOwn(chatDescriptors, candidate.key))) {
    problem(`parameters.fields.${field.key}`, 'is not a descriptor of chat models');
  }
  if (hidden.context_tokens === null) problem('private.context_tokens', 'is required for chat models');
  if (hidden.variant_field !== null) problem('private.variant_field', 'belongs to image and video models');
  if (hidden.reference_images_max !== 0) problem('private.reference_images_max', 'belongs to image and video models');
  // Aliases live on the legacy routes, and those make pictures and clips only (rules "Legacy").
  if (Object.keys(hidden.aliases).length > 0) problem('private.aliases', 'belong to image and video models');
}

const ChatExample = z.strictObject({
  model: z.string().optional(),
  messages: z
    .array(z.looseObject({ role: z.string().min(1), content: z.union([z.string().min(1), z.array(z.json()).min(1)]) }))
    .min(1),
  temperature: z.number().min(chatDescriptors.temperature.min).max(chatDescriptors.temperature.max).optional(),
  max_tokens: z.int().min(chatDescriptors.max_tokens.min).max(chatDescriptors.max_tokens.max).optional(),
});

function checkExamples(entry: CatalogEntry, { problem }: Finding): void {
  for (const [index, { values }] of (entry.model.parameters.examples ?? []).entries()) {
    const path = `parameters.examples.${index}`;
    if (Object.hasOwn(values, 'model') && values.model !== entry.model.id) problem(path, 'names another model');
    if (entry.model.type === 'chat') {
      const chat = ChatExample.safeParse(values);
      if (!chat.success) problem(path, `does not run: ${z.prettifyError(chat.error)}`);
      continue;
    }
    const refusal = refusalOf(entry, values);
    if (refusal !== undefined) problem(path, `does not run: ${refusal}`);
  }
}

function checkAliases(entry: CatalogEntry, { problem }: Finding): void {
  for (const [alias, preset] of Object.entries(entry.private.aliases)) {
    const path = `private.aliases.${alias}`;
    const strange = Object.keys(preset).filter((member) => reservedKeys.has(member) || envelopeKeys.has(member));
    if (strange.length > 0) problem(path, `can only preset tuning parameters, not ${strange.join(', ')}`);
    const refusal = strange.length > 0 ? undefined : refusalOf(entry, { ...preset, prompt: 'preset' });
    if (refusal !== undefined) problem(path, `does not run: ${refusal}`);
  }
}

/** Runs a request through the real validation and pricing; undefined when it passes. */
function refusalOf(entry: CatalogEntry, body: Record<string, unknown>): string | undefined {
  const checkUrl = (value: string, param: string): void => {
    if (/^(https:\/\/[^\s/@]+\.[^\s@]+|file_\w+|data:\w+\/[\w.+-]+;base64,[\w+/=]+)$/.test(value)) return;
    throw new GatewayError('invalid_url', {
      message: `${param} must be an https URL, a file id or a data URI.`,
      param,
    });
  };
  try {
    mediaCredits(entry.model, resolveMediaRequest(entry, body, { checkUrl }).input);
    return undefined;
  } catch (error) {
    const param = error instanceof GatewayError && error.param !== undefined ? `${error.param}: ` : '';
    return `${param}${error instanceof Error ? error.message : String(error)}`;
  }
}

function checkUpstream(entry: CatalogEntry, finding: Finding): void {
  const families = Object.entries(entry.private.upstream);
  if (families.length === 0) finding.problem('private.upstream', 'must name at least one adapter family');
  for (const [family, mapping] of families) {
    const path = `private.upstream.${family}`;
    if (!Object.hasOwn(adapterFamilies, family)) finding.warn(path, 'no adapter here speaks this family');
    checkMapping(entry, mapping, path, finding);
  }
  checkEveryValueIsMade(entry, finding);
}

/** A value that is sold and that no family makes would be taken, and then fail. */
function checkEveryValueIsMade(entry: CatalogEntry, { problem }: Finding): void {
  const mappings = Object.values(entry.private.upstream);
  if (entry.model.type === 'chat' || mappings.length === 0) return;
  for (const [key, accepted] of acceptedParameters(entry)) {
    const lost = (listValues(accepted, valuesMax) ?? []).filter(
      (value) => !mappings.some((mapping) => canMake(mapping, { [key]: value })),
    );
    if (lost.length === 0) continue;
    const words = lost.map((value) => JSON.stringify(value)).join(', ');
    problem('private.upstream', `no family makes ${key} ${words}, which the model accepts`);
  }
}

function checkMapping(entry: CatalogEntry, mapping: UpstreamMapping, path: string, { problem }: Finding): void {
  const isChat = entry.model.type === 'chat';
  const taken = isChat ? new Map<string, AcceptedParameter>() : acceptedParameters(entry);
  const known = new Set(isChat ? Object.keys(chatDescriptors) : taken.keys());
  if (entry.model.parameters.negative_prompt === true) known.add('negative_prompt');

  const checkValues = (parameter: string, values: Record<string, unknown>, at: string): void => {
    const accepted = taken.get(parameter);
    const list = accepted === undefined ? [] : listValues(accepted, valuesMax);
    for (const value of Object.keys(values)) {
      if (!(list ?? []).some((candidate) => String(candidate) === value)) {
        problem(at, `translates ${JSON.stringify(value)}, which ${parameter} does not accept`);
      }
    }
  };
  for (const [parameter, rule] of Object.entries(mapping.parameters)) {
    const at = `${path}.parameters.${parameter}`;
    if (!known.has(parameter)) problem(at, 'is not a tuning parameter of this model');
    else if (rule?.values !== undefined) checkValues(parameter, rule.values, at);
  }
  if (mapping.model_by !== undefined) {
    const at = `${path}.model_by`;
    if (!taken.has(mapping.model_by.key))
      problem(at, `${mapping.model_by.key} is not a tuning parameter of this model`);
    else checkValues(mapping.model_by.key, mapping.model_by.values, at);
  }
  for (const [parameter, values] of Object.entries(mapping.only ?? {})) {
    const at = `${path}.only.${parameter}`;
    const accepted = taken.get(parameter);
    if (accepted === undefined) {
      problem(at, 'is not a tuning parameter of this model');
      continue;
    }
    const strange = values.filter((value) => !accepts(accepted, value)).map((value) => JSON.stringify(value));
    if (strange.length > 0) problem(at, `names ${strange.join(', ')}, which the model does not accept`);
    refuseTwins(values, at, { problem });
  }
  for (const member of ['inputs', 'path_by_input'] as const) {
    for (const input of Object.keys(mapping[member] ?? {})) {
      const isInput = input === 'none' || entry.model.parameters[input] === true;
      if (!isInput) problem(`${path}.${member}.${input}`, 'is not an input of this model');
    }
  }
  // Two parameters under one name: the provider would see only one of them, and the client would pay for both.
  const sent = [...known].flatMap((parameter) => {
    const rule = mapping.parameters[parameter];
    return rule === null ? [] : [rule?.name ?? parameter];
  });
  refuseTwins([...sent, 'prompt'], `${path}.parameters`, { problem });
}
