import type { ChatRequest } from './chat.ts';

/**
 * The parameters that not every family or vendor takes, by their names in OpenAI's words: the member of a request, and the name in each API that
 * has the parameter as a plain field. Dialects read a parameter by these names, and families send it. A vendor names those that it takes
 * (`VendorRules.takes`).
 */
export const optionalParameters = {
  top_k: { member: 'topK', names: { openai: 'top_k', anthropic: 'top_k', gemini: 'topK' } },
  seed: { member: 'seed', names: { openai: 'seed', gemini: 'seed' } },
  stop: { member: 'stop', names: { openai: 'stop', anthropic: 'stop_sequences', gemini: 'stopSequences' } },
  // Belongs to the tools of a request, in a form of its own in each API.
  parallel_tool_calls: { member: 'parallelToolCalls', names: {} },
} as const satisfies Record<
  string,
  { member: keyof ChatRequest; names: Readonly<Partial<Record<ParameterApi, string>>> }
>;
/** The APIs whose words for these parameters differ. */
export type ParameterApi = 'openai' | 'anthropic' | 'gemini';
export type OptionalParameter = keyof typeof optionalParameters;
export const optionalNames = Object.keys(optionalParameters) as OptionalParameter[];

/** Those of these parameters that are plain fields of the API, with their names there. */
export const optionalNamesIn = (api: ParameterApi): { parameter: OptionalParameter; name: string }[] =>
  optionalNames.flatMap((parameter) => {
    const names: Partial<Record<ParameterApi, string>> = optionalParameters[parameter].names;
    const name = names[api];
    return name === undefined ? [] : [{ parameter, name }];
  });

/** What the request says of these parameters, by their names in the API. Undefined for what it does not say. */
export const optionalFieldsOf = (api: ParameterApi, request: ChatRequest) =>
  Object.fromEntries(
    optionalNamesIn(api).map(({ parameter, name }) => [name, request[optionalParameters[parameter].member]] as const),
  );

/** Those of these parameters that the request uses. Several calls at a time are what every provider allows by itself. */
export const usedParameters = (request: ChatRequest): OptionalParameter[] =>
  optionalNames.filter((name) => {
    const value = request[optionalParameters[name].member];
    return value !== undefined && value !== true;
  });
