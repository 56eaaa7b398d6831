import { adapterFamilies, chatVendors, documentFamilies, passingFamilies } from '../../../adapters/registry.ts';
import { hasCapability, valuesMax, type CatalogEntry, type UpstreamMapping } from '../../../domain/catalog/catalog.ts';
import { unsentMembers, vendorFields } from '../../../domain/chat/chat.ts';
import {
  combinationsMax,
  describeCombination,
  offeredCombinations,
} from '../../../domain/tasks/offered-combinations.ts';
import { canMake } from '../../../domain/tasks/offered-requests.ts';
import { acceptedParameters, accepts, listValues, type AcceptedParameter } from '../../../domain/catalog/parameters.ts';
import { neverFixed, neverPassedThrough } from '../../../domain/chat/pass-through.ts';
import { meets } from '../../../domain/catalog/request-condition.ts';
import { combinedKeys } from '../../../domain/catalog/upstream-parameters.ts';
import { chatDescriptors } from './chat.ts';
import { checkCondition } from './condition.ts';
import { checkCost } from './cost.ts';
import { quotedList, refuseDuplicates, type Findings } from './findings.ts';
import { checkMediaInputs, checkSingleRefusal } from './media-inputs.ts';

/** Checks how the model's parameters and inputs are translated for each adapter family. */
export function checkUpstream(entry: CatalogEntry, findings: Findings): void {
  const families = Object.entries(entry.private.upstream);
  // A retired model has no families once the last provider has withdrawn it.
  if (families.length === 0 && entry.private.retired === undefined)
    findings.problem('private.upstream', 'must name at least one adapter family');
  for (const [family, mapping] of families) {
    const path = `private.upstream.${family}`;
    if (!Object.hasOwn(adapterFamilies, family)) findings.warn(path, 'there is no adapter of this family');
    checkMapping(entry, mapping, path, findings);
    checkCost(entry, mapping, path, findings);
    checkFurtherFields(entry, family, mapping, findings);
    checkVendor(entry, family, mapping, findings);
    checkTakesDocuments(entry, family, mapping, findings);
    checkMediaInputs(entry, family, mapping, findings);
  }
  checkEveryValueIsMade(entry, findings);
}

/** Checks the list of further fields that clients may send to this family, and the fields that are always sent. */
function checkFurtherFields(
  { model }: CatalogEntry,
  family: string,
  { pass_through: fields, fixed = {} }: UpstreamMapping,
  findings: Findings,
): void {
  const refuseOwn = (names: readonly string[], refused: readonly string[], at: string): void => {
    const own = names.filter((field) => refused.includes(field));
    if (own.length > 0) findings.problem(at, `lists ${quotedList(own)}, which the gateway reads or refuses itself`);
  };
  if (model.type === 'chat') refuseOwn(Object.keys(fixed), neverFixed, `private.upstream.${family}.fixed`);
  if (fields === undefined) return;
  const path = `private.upstream.${family}.pass_through`;
  if (model.type !== 'chat') findings.problem(path, 'belongs to chat models');
  if (!passingFamilies.includes(family)) findings.problem(path, 'this family passes no further fields through');
  refuseOwn(fields, neverPassedThrough, path);
  refuseDuplicates(fields, path, findings);
}

/** A vendor without a table would be sent fields that it may refuse. */
function checkVendor(
  { model }: CatalogEntry,
  family: string,
  { vendor, api }: UpstreamMapping,
  { problem }: Findings,
): void {
  if (vendor === undefined) return;
  const path = `private.upstream.${family}.vendor`;
  if (model.type !== 'chat') problem(path, 'belongs to chat models');
  else if (api !== undefined) problem(path, 'belongs to chat completions');
  else if (!Object.hasOwn(chatVendors[family] ?? {}, vendor))
    problem(path, `is no vendor of this family: ${quotedList([vendor])}`);
}

/** Checks that only chat models of families which can send PDFs take them. */
function checkTakesDocuments(
  { model }: CatalogEntry,
  family: string,
  { documents }: UpstreamMapping,
  { problem, warn }: Findings,
): void {
  if (documents === undefined) return;
  const path = `private.upstream.${family}.documents`;
  if (model.type !== 'chat') problem(path, 'belongs to chat models');
  if (!documentFamilies.includes(family)) problem(path, 'this family sends no documents');
  if (!hasCapability(model, 'documents')) warn(path, 'the capability of the model does not list documents');
}

/** A value that no family can make would be accepted from clients and then fail. */
function checkEveryValueIsMade(entry: CatalogEntry, { problem }: Findings): void {
  const mappings = Object.values(entry.private.upstream);
  if (entry.model.type === 'chat' || mappings.length === 0) return;
  for (const [key, accepted] of acceptedParameters(entry)) {
    const lost = (listValues(accepted, valuesMax) ?? []).filter(
      (value) => !mappings.some((mapping) => canMake(mapping, { [key]: value })),
    );
    if (lost.length === 0) continue;
    problem('private.upstream', `no family makes ${key} ${quotedList(lost)}, which the model accepts`);
  }
}

function checkMapping(entry: CatalogEntry, mapping: UpstreamMapping, path: string, findings: Findings): void {
  const { problem } = findings;
  const isChat = entry.model.type === 'chat';
  const taken = isChat ? new Map<string, AcceptedParameter>() : acceptedParameters(entry);
  const further = Object.values(chatVendors).flatMap((vendors) => vendors[mapping.vendor ?? '']?.further ?? []);
  const supported = new Set(
    isChat
      ? [...Object.keys(chatDescriptors), ...Object.keys(unsentMembers), ...vendorFields, ...further]
      : taken.keys(),
  );
  if (entry.model.parameters.negative_prompt === true) supported.add('negative_prompt');

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
    if (!supported.has(parameter) || (isChat && parameter === 'seed' && rule === null))
      problem(at, 'is not a tuning parameter of this model');
    else if (isChat) checkChatParameter(parameter, rule, at, findings);
    for (const { values = {} } of [rule ?? []].flat()) checkValues(parameter, values, at);
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
    const unknown = values.filter((value) => !accepts(accepted, value));
    if (unknown.length > 0) problem(at, `names ${quotedList(unknown)}, which the model does not accept`);
    refuseDuplicates(values, at, findings);
  }
  for (const member of ['inputs', 'path_by_input'] as const) {
    for (const input of Object.keys(mapping[member] ?? {})) {
      const isInput = input === 'none' || entry.model.parameters[input] === true;
      if (!isInput) problem(`${path}.${member}.${input}`, 'is not an input of this model');
    }
  }
  checkRefuses(entry, mapping, path, findings);
  checkSends(entry, mapping, path, findings);
  // If two parameters had the same name, the provider would receive only one and the client would pay for both.
  const combined = combinedKeys(mapping);
  const sent = [...supported].flatMap((parameter) => {
    const rule = mapping.parameters[parameter];
    if (rule === null || (rule === undefined && combined.has(parameter))) return [];
    return [rule ?? { name: parameter }].flat().map(({ name }) => name);
  });
  const combining = new Set((mapping.sends ?? []).flatMap(({ fields }) => Object.keys(fields)));
  refuseDuplicates(
    [...sent, ...combining, ...Object.keys(mapping.fixed ?? {}), 'prompt'],
    `${path}.parameters`,
    findings,
  );
}

/** A chat parameter keeps its value, and the limit of the output is always sent. */
function checkChatParameter(
  parameter: string,
  rule: UpstreamMapping['parameters'][string],
  at: string,
  { problem }: Findings,
): void {
  const isNamed = Object.hasOwn(chatDescriptors, parameter);
  // Mistral has another name for `seed`.
  if (rule === null ? parameter === 'max_tokens' : !isNamed && parameter !== 'seed') {
    problem(at, isNamed ? 'must be sent, because credits are held for it' : 'can only be null for "not sent"');
  }
}

/** Checks the requests that the family does not take: each must be one that the model accepts. */
function checkRefuses(entry: CatalogEntry, { refuses }: UpstreamMapping, path: string, findings: Findings): void {
  if (refuses === undefined) return;
  const at = `${path}.refuses`;
  if (entry.model.type === 'chat') findings.problem(at, 'belongs to image and video models');
  else {
    for (const [index, condition] of refuses.entries()) {
      checkSingleRefusal(entry, condition, `${at}.${index}`, findings);
      checkCondition(entry, condition, `${at}.${index}`, findings);
    }
  }
}

/** Checks the rules of fields that depend on several parameters: every offered value must reach the provider. */
function checkSends(entry: CatalogEntry, mapping: UpstreamMapping, path: string, findings: Findings): void {
  const { sends } = mapping;
  const at = `${path}.sends`;
  if (sends === undefined) return;
  if (entry.model.type === 'chat') {
    findings.problem(at, 'belongs to image and video models');
    return;
  }
  const isFine = sends.map(({ when }, index) => checkCondition(entry, when, `${at}.${index}.when`, findings));
  if (isFine.includes(false)) return;
  const combinations = offeredCombinations(
    entry,
    mapping,
    sends.flatMap(({ when }) => Object.keys(when)),
  );
  if (combinations === null) {
    findings.problem(at, `depends on parameters with more than ${combinationsMax} combinations of values`);
    return;
  }
  for (const key of combinedKeys(mapping)) {
    const lost = combinations.find(
      (combination) =>
        Object.hasOwn(combination, key) &&
        !sends.some(({ when }) => Object.hasOwn(when, key) && meets(when, combination)),
    );
    if (lost) findings.problem(at, `has no rule that sends ${key} for ${describeCombination(lost)}`);
  }
}
