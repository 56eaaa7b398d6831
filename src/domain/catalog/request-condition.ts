import type { JsonObject } from '../json.ts';
import { mediaInputKeys, type ParameterValue } from './parameter-value.ts';

/**
 * What a rule of the catalog asks of a resolved request: a value, or one of several, for each named parameter. An input
 * (`image`, `negative_prompt`, …) is named with true for "is given" or false for "is not given".
 */
export type RequestCondition = Record<string, ParameterValue | ParameterValue[]>;

/** Whether a resolved request meets a condition. Without a condition, every request does. */
export const meets = (condition: RequestCondition | undefined, input: JsonObject): boolean =>
  Object.entries(condition ?? {}).every(([key, wanted]) => {
    const isPresent = Object.hasOwn(input, key);
    const value = isInputKey(key) ? isPresent : isPresent ? input[key] : undefined;
    return [wanted].flat().some((each) => each === value);
  });

/** Whether a condition asks for the presence of this member of a request instead of its value. */
export const isInputKey = (key: string): boolean =>
  key === 'negative_prompt' || mediaInputKeys.some((input) => input === key);
