import type { CatalogEntry, FieldDescriptor } from '../../../domain/catalog/catalog.ts';
import {
  acceptedParameters,
  accepts,
  describeAccepted,
  listValues,
  offeredValues,
  reservedKeys,
  tuningKeys,
  type AcceptedParameter,
} from '../../../domain/catalog/parameters.ts';
import { ModelParameters, strings, valuesMax } from '../../../domain/catalog/catalog.ts';
import { quotedList, refuseDuplicates, type Findings } from './findings.ts';

/** Checks the vendor's list of variants, which `private.variant_field` names. No other unknown member is allowed. */
export function checkVariants({ model, private: hidden }: CatalogEntry, { problem }: Findings): void {
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
    problem('private.variant_field', `"${field}" is the name of another parameter or member`);
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

/** Checks the descriptors, which a form shows, against the parameters that the model accepts. */
export function checkDescriptors(entry: CatalogEntry, findings: Findings): void {
  const { parameters } = entry.model;
  const lists = [...tuningKeys, ...(entry.private.variant_field === null ? [] : [entry.private.variant_field])];
  for (const listKey of lists) {
    const list = parameters[listKey];
    if (Array.isArray(list)) refuseDuplicates(list, `parameters.${listKey}`, findings);
  }
  const fields = parameters.fields ?? [];
  refuseDuplicates(
    fields.map((field) => field.key),
    'parameters.fields',
    findings,
  );
  const accepted = acceptedParameters(entry);
  for (const field of fields) {
    const path = `parameters.fields.${field.key}`;
    checkDescriptorShape(entry, field, path, findings);
    if (entry.model.type === 'chat') continue;
    if (reservedKeys.has(field.key)) {
      findings.problem(path, 'is not a tuning parameter, so it must not have a descriptor');
      continue;
    }
    const parameter = accepted.get(field.key);
    if (parameter === undefined) {
      findings.problem(path, 'describes a parameter that the flags do not enable');
      continue;
    }
    if (parameter.default !== undefined && !accepts(parameter, parameter.default)) {
      findings.problem(`${path}.default`, `must be ${describeAccepted(parameter)}`);
    }
    compareOffer(field, parameter, path, findings);
  }
}

function checkDescriptorShape(entry: CatalogEntry, field: FieldDescriptor, path: string, findings: Findings): void {
  const { problem } = findings;
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
  if (options !== undefined) refuseDuplicates(options, `${path}.options`, findings);
  if (entry.model.type === 'chat') return;
  // The specification fixes the types of its own parameters. Any other one is a vendor's.
  if (!tuningKeys.includes(field.key)) return;
  const isSwitch = field.key === 'generate_audio';
  if (isSwitch !== (type === 'boolean')) problem(path, isSwitch ? 'must be a boolean' : 'must not be a boolean');
  if (field.key === 'duration') {
    const seconds = type === 'enum' ? (options ?? []) : [min, step];
    if (!seconds.every((value) => Number.isSafeInteger(value) && Number(value) >= 1)) {
      problem(path, 'a duration is a whole number of seconds, at least 1');
    }
  } else if (type !== 'boolean' && options?.every((value) => typeof value === 'string') !== true) {
    problem(path, 'must be an enum of strings');
  }
}

/** The top-level array lists the accepted values, the descriptor those that a form offers. A difference may be intended. */
function compareOffer(field: FieldDescriptor, parameter: AcceptedParameter, path: string, { warn }: Findings): void {
  const offered = listValues(offeredValues(field), valuesMax);
  const acceptedValues = listValues(parameter, valuesMax);
  if (offered === undefined || acceptedValues === undefined) return;
  const surplus = offered.filter((value) => !acceptedValues.includes(value));
  const missing = acceptedValues.filter((value) => !offered.includes(value));
  if (surplus.length > 0) warn(path, `offers ${quotedList(surplus)}, which the top-level array does not accept`);
  if (missing.length > 0) warn(path, `does not offer ${quotedList(missing)}, which the top-level array accepts`);
}
