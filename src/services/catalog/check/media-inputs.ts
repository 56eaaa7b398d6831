import { mediaFamilies } from '../../../adapters/registry.ts';
import type { CatalogEntry, UpstreamMapping } from '../../../domain/catalog/catalog.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { describeSupport, unsentInput } from '../../../domain/tasks/media-support.ts';
import { combinationsMax, offeredCombinations } from '../../../domain/tasks/offered-combinations.ts';
import { mediaInputKeys } from '../../../domain/catalog/parameter-value.ts';
import type { RequestCondition } from '../../../domain/catalog/request-condition.ts';
import type { Findings } from './findings.ts';

/**
 * Refuses a mapping whose adapter would not send an input, or a combination of inputs, that the model accepts: the client would pay for
 * it and the provider would not receive it. A request that `refuses` names goes to another family.
 */
export function checkMediaInputs(
  entry: CatalogEntry,
  family: string,
  mapping: UpstreamMapping,
  findings: Findings,
): void {
  const { model } = entry;
  const types = mediaFamilies[family];
  if (model.type === 'chat' || types === undefined) return;
  const path = `private.upstream.${family}`;
  const support = types[model.type];
  if (support === undefined) {
    findings.problem(path, `the family ${family} makes no ${model.type}s`);
    return;
  }
  checkInputNames(mapping, types.takesInputNames === true, path, findings);
  const offered = offeredCombinations(entry, mapping, mediaInputKeys);
  if (offered === null) {
    findings.problem(
      `${path}.refuses`,
      `depends on parameters with more than ${combinationsMax} combinations of values`,
    );
    return;
  }
  const inputsByReason = new Map<string, readonly string[]>();
  for (const combination of offered) {
    const unsent = unsentInput(types, model.type, withMostReferences(entry, combination));
    if (unsent) inputsByReason.set(unsent.why, unsent.inputs);
  }
  for (const [why, inputs] of inputsByReason) {
    const modelLimit = why.includes('at most') ? `, and the model accepts ${entry.private.reference_images_max}` : '';
    const condition = inputs.map((input) => `${input}: true`).join(', ');
    const remedy = `It sends ${describeSupport(support)}. Remove the input, or leave such requests to another family (refuses: [{ ${condition} }])`;
    findings.problem(path, `the family ${family} ${why}${modelLimit}. ${remedy}`);
  }
}

/**
 * Refuses a condition of `refuses` with a single member, unless it is an input that another family takes. One value of a parameter belongs
 * to the mapping's `only`, and a model must not accept an input that no family takes.
 */
export function checkSingleRefusal(
  { model, private: { upstream } }: CatalogEntry,
  condition: RequestCondition,
  path: string,
  { problem }: Findings,
): void {
  const [member = '', second] = Object.keys(condition);
  if (second !== undefined) return;
  const refusesInput = ({ refuses = [] }: UpstreamMapping): boolean =>
    refuses.some((each) => Object.keys(each).length === 1 && each[member] === true);
  const isInput = mediaInputKeys.some((key) => key === member && model.parameters[key] === true);
  const isLeftToAnother = condition[member] === true && !Object.values(upstream).every(refusesInput);
  if (!isInput || !isLeftToAnother)
    problem(path, 'must name what excludes each other, or an input that another family takes');
}

const withMostReferences = (entry: CatalogEntry, combination: JsonObject): JsonObject =>
  Object.hasOwn(combination, 'reference_images')
    ? { ...combination, reference_images: Array.from({ length: entry.private.reference_images_max }, () => 'file') }
    : combination;

/** Two inputs with one name would reach the provider as one. Only the images may share a list. */
function checkInputNames(
  { inputs = {} }: UpstreamMapping,
  takesInputNames: boolean,
  path: string,
  { problem }: Findings,
): void {
  const named = Object.entries(inputs);
  if (named.length > 0 && !takesInputNames) {
    problem(`${path}.inputs`, 'this family has its own names of the inputs');
    return;
  }
  for (const [input, name] of named) {
    const other = named.find(([key, same]) => key !== input && same === name && !(isImage(key) && isImage(input)));
    if (other)
      problem(`${path}.inputs.${input}`, `has the name of ${other[0]}, so that only one of them would be sent`);
  }
}

const isImage = (input: string): boolean => input === 'image' || input === 'reference_images';
