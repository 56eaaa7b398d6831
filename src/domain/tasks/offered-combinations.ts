import type { CatalogEntry, UpstreamMapping } from '../catalog/catalog.ts';
import type { JsonObject } from '../json.ts';
import { canMake, unofferedKey } from './offered-requests.ts';
import { acceptedParameters, listValues } from '../catalog/parameters.ts';
import type { ParameterValue } from '../catalog/parameter-value.ts';
import { isInputKey } from '../catalog/request-condition.ts';

/** A product with more combinations is refused: the catalog is checked before each apply, and every combination is priced. */
export const combinationsMax = 50_000;

/**
 * Every combination of values of these parameters and inputs that a family offers, as resolved requests have them. What its `refuses`
 * depends on is part of each. A parameter without a default may be absent, and so may an input. Null if there are more than
 * `combinationsMax`.
 */
export function offeredCombinations(
  entry: CatalogEntry,
  mapping: Pick<UpstreamMapping, 'only' | 'refuses'>,
  keys: Iterable<string>,
): JsonObject[] | null {
  const accepted = acceptedParameters(entry);
  let combinations: JsonObject[] = [{}];
  for (const key of new Set([...keys, ...(mapping.refuses ?? []).flatMap((condition) => Object.keys(condition))])) {
    const choices = choicesOf(entry, accepted.get(key), key);
    if (choices === null || combinations.length * choices.length > combinationsMax) return null;
    combinations = combinations.flatMap((each) =>
      choices
        .map((value) => (value === undefined ? each : { ...each, [key]: value }))
        .filter((combination) => unofferedKey(mapping, combination) === undefined),
    );
  }
  return combinations.filter((combination) => canMake(mapping, combination));
}

/** A combination as a message shows it, such as `img_size "1k", image given`. */
export const describeCombination = (combination: JsonObject): string =>
  Object.entries(combination)
    .map(([key, value]) => (isInputKey(key) ? `${key} given` : `${key} ${JSON.stringify(value)}`))
    .join(', ') || 'any request';

/** Undefined stands for "absent". An input has a stand-in, because only its presence counts. */
function choicesOf(
  { model }: CatalogEntry,
  accepted: ReturnType<ReturnType<typeof acceptedParameters>['get']>,
  key: string,
): (ParameterValue | undefined)[] | null {
  if (isInputKey(key)) return model.parameters[key] === true ? [undefined, key] : [undefined];
  if (accepted === undefined) return [undefined];
  const values = listValues(accepted);
  if (values === undefined) return null;
  return accepted.default === undefined ? [undefined, ...values] : values;
}
