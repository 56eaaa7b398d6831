import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ChatRequest } from './chat.ts';

/** The most tokens that clients under `/v1` may ask a model for. The default is the limit of the specification (§4.2). */
export const maxOutputTokens = ({ private: { max_output_tokens: most } }: CatalogEntry): number => most ?? 8_192;

/** OpenAI's Responses API refuses fewer. Claude Code and health checks ask for one token to see whether a model answers. */
const responsesMin = 16;

/** The request with as many tokens as its model may be asked for, and whether its client named another number. */
export function clampLength(request: ChatRequest, entry: CatalogEntry): { request: ChatRequest; isClamped: boolean } {
  const { maxTokens } = request;
  const least = Object.values(entry.private.upstream).some(({ api }) => api === 'responses') ? responsesMin : 1;
  const taken = Math.max(least, Math.min(maxTokens, maxOutputTokens(entry)));
  if (taken === maxTokens) return { request, isClamped: false };
  return { request: { ...request, maxTokens: taken }, isClamped: request.isDefaultLength !== true };
}
