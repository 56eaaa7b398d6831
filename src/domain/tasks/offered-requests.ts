import type { CatalogEntry, Model, UpstreamMapping } from '../catalog/catalog.ts';
import { GatewayError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { unsentInput, type MediaFamilies } from './media-support.ts';
import { isInputKey, meets } from '../catalog/request-condition.ts';

type Limits = Pick<UpstreamMapping, 'only' | 'refuses'>;

/** Whether a family offers what the task asks for. Some sell fewer durations or variants of a model than others, or not all together. */
export const canMake = (mapping: Limits, input: JsonObject): boolean =>
  unofferedKey(mapping, input) === undefined && refusedTogether(mapping, input) === undefined;

/** The first parameter whose value the family does not offer. */
export const unofferedKey = ({ only = {} }: Pick<Limits, 'only'>, input: JsonObject): string | undefined =>
  Object.entries(only).find(
    ([key, values]) => Object.hasOwn(input, key) && !values.some((value) => value === input[key]),
  )?.[0];

const refusedTogether = ({ refuses = [] }: Pick<Limits, 'refuses'>, input: JsonObject) =>
  refuses.find((condition) => meets(condition, input));

/**
 * The families that make a request: those that offer it and whose adapter sends all that is given, so that no provider is paid for
 * less than the client pays for. `families`: what adapters send; a family that is missing sends all.
 */
export const makersOf = (
  entry: CatalogEntry,
  input: JsonObject,
  families: MediaFamilies,
): [string, UpstreamMapping][] =>
  Object.entries(entry.private.upstream).filter(
    ([family, mapping]) => canMake(mapping, input) && unsentOf(entry.model, family, input, families) === null,
  );

const unsentOf = ({ type }: Model, family: string, input: JsonObject, families: MediaFamilies) =>
  type === 'chat' ? null : unsentInput(families[family], type, input);

/** Whether some family makes a request. A model without families is no longer made by any, and its requests are refused before. */
export const isMade = (entry: CatalogEntry, input: JsonObject, families: MediaFamilies = {}): boolean =>
  Object.keys(entry.private.upstream).length === 0 || makersOf(entry, input, families).length > 0;

/** Throws why the first family does not make a request, if no family makes it. */
export function assertMade(entry: CatalogEntry, input: JsonObject, families: MediaFamilies = {}): void {
  const [first] = Object.keys(entry.private.upstream);
  if (first !== undefined && !isMade(entry, input, families)) throw notMade(entry, first, input, families);
}

/** Why a family does not make a request, with the parameters at fault. The request must be one that it does not make. */
export function notMade(
  { model, private: { upstream } }: CatalogEntry,
  family: string,
  input: JsonObject,
  families: MediaFamilies,
): GatewayError {
  const { id } = model;
  const mapping = upstream[family] ?? {};
  const shown = (key: string): string => (isInputKey(key) ? key : `${key} ${JSON.stringify(input[key])}`);
  const key = unofferedKey(mapping, input);
  if (key !== undefined) {
    const message = `${shown(key)} is not offered with the other values of this request for the model ${id}.`;
    return new GatewayError('invalid_value', { message, param: key });
  }
  const condition = refusedTogether(mapping, input);
  const unsent = condition === undefined ? unsentOf(model, family, input, families) : null;
  if (unsent !== null) {
    const message = `No provider of the model ${id} takes this request: it ${unsent.why}.`;
    return new GatewayError('unsupported_parameter', { message, param: unsent.param });
  }
  const refused = Object.keys(condition ?? {});
  // Sorted, because PostgreSQL does not keep the order of the catalog file.
  const present = refused.filter((each) => Object.hasOwn(input, each)).sort();
  const [first = 'This request', ...others] = present;
  const why = others.length > 0 ? `cannot be combined with ${others.map(shown).join(' and ')}` : 'needs another input';
  const message = `${shown(first)} ${why} for the model ${id}.`;
  return new GatewayError('unsupported_parameter', { message, ...(present[0] !== undefined && { param: first }) });
}
