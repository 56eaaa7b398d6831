import { adapterFamilies, passingFamilies } from '../../../channels/registry.ts';
import type { CatalogEntry, UpstreamMapping } from '../../../domain/catalog.ts';
import { acceptedParameters, accepts, listValues, type AcceptedParameter } from '../../../domain/parameters.ts';
import { neverPassedThrough } from '../../../domain/pass-through.ts';
import { canMake } from '../../../domain/upstream-parameters.ts';
import { valuesMax } from '../catalog-file-entry.ts';
import { chatDescriptors } from './chat.ts';
import { quoted, refuseDuplicates, type Findings } from './findings.ts';

/** Checks how the model's parameters and inputs are translated for each adapter family. */
export function checkUpstream(entry: CatalogEntry, findings: Findings): void {
  const families = Object.entries(entry.private.upstream);
  if (families.length === 0) findings.problem('private.upstream', 'must name at least one adapter family');
  for (const [family, mapping] of families) {
    const path = `private.upstream.${family}`;
    if (!Object.hasOwn(adapterFamilies, family)) findings.warn(path, 'there is no adapter of this family');
    checkMapping(entry, mapping, path, findings);
    checkPassThrough(entry, family, mapping.pass_through, findings);
  }
  checkEveryValueIsMade(entry, findings);
}

/** Checks the list of further fields that clients may send to this family. */
function checkPassThrough(
  { model }: CatalogEntry,
  family: string,
  fields: readonly string[] | undefined,
  findings: Findings,
): void {
  if (fields === undefined) return;
  const path = `private.upstream.${family}.pass_through`;
  if (model.type !== 'chat') findings.problem(path, 'belongs to chat models');
  if (!passingFamilies.includes(family)) findings.problem(path, 'this family passes no further fields through');
  const own = fields.filter((field) => neverPassedThrough.includes(field));
  if (own.length > 0) findings.problem(path, `lists ${quoted(own)}, which the gateway reads or refuses itself`);
  refuseDuplicates(fields, path, findings);
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
    problem('private.upstream', `no family makes ${key} ${quoted(lost)}, which the model accepts`);
  }
}

function checkMapping(entry: CatalogEntry, mapping: UpstreamMapping, path: string, findings: Findings): void {
  const { problem } = findings;
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
    const unknown = values.filter((value) => !accepts(accepted, value));
    if (unknown.length > 0) problem(at, `names ${quoted(unknown)}, which the model does not accept`);
    refuseDuplicates(values, at, findings);
  }
  for (const member of ['inputs', 'path_by_input'] as const) {
    for (const input of Object.keys(mapping[member] ?? {})) {
      const isInput = input === 'none' || entry.model.parameters[input] === true;
      if (!isInput) problem(`${path}.${member}.${input}`, 'is not an input of this model');
    }
  }
  // If two parameters had the same name, the provider would receive only one and the client would pay for both.
  const sent = [...known].flatMap((parameter) => {
    const rule = mapping.parameters[parameter];
    return rule === null ? [] : [rule?.name ?? parameter];
  });
  refuseDuplicates([...sent, 'prompt'], `${path}.parameters`, findings);
}
