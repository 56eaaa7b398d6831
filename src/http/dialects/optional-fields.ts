import { z } from 'zod';
import {
  optionalNamesIn,
  optionalParameters,
  type OptionalParameter,
  type ParameterApi,
} from '../../domain/chat/optional-parameters.ts';
import { V1Stops } from './chat-fields.ts';
import type { DialectWords } from './dialect-words.ts';

/** The optional parameters that every dialect accepts with the same values. A dialect with other limits replaces the field. */
const schemas = {
  top_k: z.int().min(1).max(1_000).nullish(),
  stop: V1Stops.nullish(),
  // OpenAI's are integers of 64 bits, of which JSON keeps 53. Of a larger one any part will do, if it is always the same.
  seed: z
    .number()
    .multipleOf(1)
    .meta({ type: 'integer' })
    .transform((seed) => seed % Number.MAX_SAFE_INTEGER)
    .nullish(),
} satisfies Record<PlainParameter, z.ZodType>;
/** Every parameter with a name in some API. */
type PlainParameter = {
  [Parameter in OptionalParameter]: keyof (typeof optionalParameters)[Parameter]['names'] extends never
    ? never
    : Parameter;
}[OptionalParameter];
type Schemas = typeof schemas;
type NamesOf<Parameter extends keyof Schemas> = (typeof optionalParameters)[Parameter]['names'];

/** The fields of the optional parameters that the dialect has, by its names. */
export const optionalFields = <Api extends ParameterApi>(api: Api): OptionalFields<Api> => {
  const names = new Map(optionalNamesIn(api).map(({ parameter, name }) => [parameter as string, name]));
  return Object.fromEntries(
    Object.entries(schemas).flatMap(([parameter, schema]) => {
      const name = names.get(parameter);
      return name === undefined ? [] : [[name, schema]];
    }),
  ) as OptionalFields<Api>;
};
type OptionalFields<Api extends ParameterApi> = {
  [
    Parameter in keyof Schemas as NamesOf<Parameter> extends Record<Api, infer Name extends string> ? Name : never
  ]: Schemas[Parameter];
};

/** The values of these fields in a body that was read, by the members of a request. */
export const readOptionalFields = (api: ParameterApi, body: object): OptionalFieldValues => {
  const values = new Map(Object.entries(body));
  return Object.fromEntries(
    optionalNamesIn(api).map(({ parameter, name }) => [optionalParameters[parameter].member, values.get(name)]),
  );
};
type OptionalFieldValues = {
  [Parameter in keyof Schemas as (typeof optionalParameters)[Parameter]['member']]?: z.output<Schemas[Parameter]>;
};

/** The names of these fields in refusals of the shared checks. `within` is the path of the object that has them. */
export const optionalWords = (api: ParameterApi, within = ''): DialectWords =>
  Object.fromEntries(optionalNamesIn(api).map(({ parameter, name }) => [parameter, within + name]));
