import type { JsonObject } from '../json.ts';
import { mediaInputKeys, type MediaInputKey } from '../catalog/parameter-value.ts';
import type { TaskType } from './task.ts';

/** What the adapter of one family sends of the inputs of a request, for one type of task. The prompt is always sent. */
export interface MediaSupport {
  /** The most of each input in one request. 0: the adapter does not send it. */
  most: Readonly<Record<MediaInputKey, number>>;
  /** Inputs of which the adapter sends one at a time only. */
  apart?: readonly (readonly [MediaInputKey, MediaInputKey])[];
  /** The provider's names of parameters that the adapter leaves out beside an input, because the provider takes them from the input. */
  leavesOut?: readonly { parameter: string; beside: MediaInputKey }[];
}

/** By the types of task that the adapter makes. */
export interface MediaTypes extends Readonly<Partial<Record<TaskType, MediaSupport>>> {
  /** The catalog names the inputs of each model (`inputs`). Absent: the adapter has its own names. */
  takesInputNames?: true;
}

/** By adapter family. A family that is missing makes no media, or has no adapter. */
export type MediaFamilies = Readonly<Record<string, MediaTypes>>;

/** As many as the model accepts. */
export const anyNumber = Infinity;

/** An input, or a pair of inputs, that an adapter would not send with the rest of the request. */
export interface UnsentInput {
  param: MediaInputKey;
  /** Ends a sentence about the family: "sends at most 1 of reference_images". */
  why: string;
  /** The two inputs that exclude each other, or the one that is not sent. */
  inputs: readonly MediaInputKey[];
}

/**
 * The first input of a resolved request that the adapter would not send; null if it sends all. An adapter that is not known makes no
 * statement: its channels cannot be used at all.
 */
export function unsentInput(types: MediaTypes | undefined, type: TaskType, input: JsonObject): UnsentInput | null {
  const support = types?.[type];
  if (!support) return null;
  for (const param of mediaInputKeys) {
    const value = input[param];
    const count = value === undefined ? 0 : Array.isArray(value) ? value.length : 1;
    const most = support.most[param];
    if (count > most) {
      const why = most === 0 ? `cannot send ${param}` : `sends at most ${most} of ${param}`;
      return { param, why, inputs: [param] };
    }
  }
  for (const pair of support.apart ?? []) {
    const [first, param] = pair;
    if (Object.hasOwn(input, first) && Object.hasOwn(input, param)) {
      return { param, why: `cannot send ${first} and ${param} together`, inputs: pair };
    }
  }
  return null;
}

/** What an adapter sends, for an error message: "prompt, image, reference_images (at most 1); not image with reference_images". */
export function describeSupport({ most, apart = [] }: MediaSupport): string {
  const shown = mediaInputKeys.flatMap((key) => {
    if (most[key] === 0) return [];
    return key === 'reference_images' && most[key] !== anyNumber ? [`${key} (at most ${most[key]})`] : [key];
  });
  const excluded = apart.map(([first, second]) => `${first} with ${second}`);
  return [['prompt', ...shown].join(', '), ...(excluded.length > 0 ? [`not ${excluded.join(', ')}`] : [])].join('; ');
}
