import type { ChatRequest } from './chat.ts';

/**
 * The parameters that not every family or vendor takes, by their names in OpenAI's words and in a request. A family names those that it takes
 * (`ChatSupports.parameters`), a vendor too (`VendorRules.takes`).
 */
export const optionalParameters = {
  top_k: 'topK',
  seed: 'seed',
  stop: 'stop',
  parallel_tool_calls: 'parallelToolCalls',
} as const;
export type OptionalParameter = keyof typeof optionalParameters;
export const optionalNames = Object.keys(optionalParameters) as OptionalParameter[];

/** Those of these parameters that the request uses. Several calls at a time are what every provider allows by itself. */
export const usedParameters = (request: ChatRequest): OptionalParameter[] =>
  optionalNames.filter((name) => {
    const value = request[optionalParameters[name]];
    return value !== undefined && value !== true;
  });
