import type { UpstreamMapping } from '../catalog/catalog.ts';
import { unsentMembers, type ChatRequest } from './chat.ts';

/** The parameters of a client that the catalog maps to null for a family. A temperature that the client did not name is none of them. */
export const unsentBy = (request: ChatRequest, parameters: UpstreamMapping['parameters']): string[] =>
  Object.entries(unsentMembers)
    .filter(([key, member]) => parameters[key] === null && isExplicit(request, member))
    .map(([key]) => key);

/** Whether the client itself named this parameter. */
export const isExplicit = (request: ChatRequest, member: keyof ChatRequest): boolean =>
  request[member] !== undefined && !(member === 'temperature' && request.isDefaultTemperature);

/** A sentence for the client about parameters without effect; null if there are none. */
export function noEffect(names: readonly string[]): string | null {
  const last = names.at(-1);
  if (last === undefined) return null;
  if (names.length === 1) return `The model does not take ${last} in this request, so it was asked without it.`;
  return `The model does not take ${names.slice(0, -1).join(', ')} and ${last} in this request, so it was asked without them.`;
}
