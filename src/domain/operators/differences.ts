import { canonicalJson } from '../canonical-json.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';

export interface Difference {
  /** Such as `pricing.credits_per_request`. */
  path: string;
  /** Undefined where the member is missing. */
  before: JsonValue | undefined;
  after: JsonValue | undefined;
}

/** The members in which two objects differ, in the order of their paths. Lists are compared whole. */
export function differences(before: JsonObject, after: JsonObject, within = ''): Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name): Difference[] => {
    const [was, is] = [before[name], after[name]];
    const path = `${within}${name}`;
    if (isObject(was) && isObject(is)) return differences(was, is, `${path}.`);
    return textOf(was) === textOf(is) ? [] : [{ path, before: was, after: is }];
  });
}

const textOf = (value: JsonValue | undefined): string => (value === undefined ? '' : canonicalJson(value));
