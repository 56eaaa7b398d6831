import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ChatRequest } from './chat.ts';

/** The most tokens that clients under `/v1` may ask a model for. The default is the limit of the specification (§4.2). */
export const maxOutputTokens = ({ private: { max_output_tokens: most } }: CatalogEntry): number => most ?? 8_192;

/** The request with at most as many tokens as its model writes, and whether its client asked for more. */
export function clampLength(request: ChatRequest, entry: CatalogEntry): { request: ChatRequest; isClamped: boolean } {
  const most = maxOutputTokens(entry);
  if (request.maxTokens <= most) return { request, isClamped: false };
  return { request: { ...request, maxTokens: most }, isClamped: request.isDefaultLength !== true };
}
