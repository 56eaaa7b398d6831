import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import { acceptedParameters, accepts } from '../../../domain/catalog/parameters.ts';
import { isInputKey, type RequestCondition } from '../../../domain/catalog/request-condition.ts';
import { quotedList, refuseDuplicates, type Findings } from './findings.ts';

/** Checks that a condition asks only for inputs and values that the model accepts; false if it does not. */
export function checkCondition(
  entry: CatalogEntry,
  condition: RequestCondition,
  path: string,
  { problem, warn }: Findings,
): boolean {
  let isFine = true;
  const refuse = (at: string, message: string): void => {
    isFine = false;
    problem(at, message);
  };
  const accepted = acceptedParameters(entry);
  for (const [key, wanted] of Object.entries(condition)) {
    const at = `${path}.${key}`;
    const values = [wanted].flat();
    refuseDuplicates(values, at, { problem: refuse, warn });
    if (isInputKey(key)) {
      if (entry.model.parameters[key] !== true) refuse(at, 'is not an input of this model');
      if (values.some((value) => typeof value !== 'boolean')) refuse(at, 'must be true (given) or false (not given)');
      continue;
    }
    const taken = accepted.get(key);
    if (taken === undefined) {
      refuse(at, 'is not a tuning parameter or an input of this model');
      continue;
    }
    const unknown = values.filter((value) => !accepts(taken, value));
    if (unknown.length > 0) refuse(at, `names ${quotedList(unknown)}, which the model does not accept`);
  }
  return isFine;
}
