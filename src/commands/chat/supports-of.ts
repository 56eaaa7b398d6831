import type { Deps } from '../../deps.ts';
import type { UpstreamMapping } from '../../domain/catalog.ts';
import type { ChatSupports } from '../../domain/chat-supports.ts';

/** What a family supports of a chat through the API that a mapping names; undefined if the family has no such API. */
export const supportsOf = (
  adapters: Deps['adapters'],
  family: string,
  api: UpstreamMapping['api'],
): ChatSupports | undefined =>
  api === 'responses' ? adapters[family]?.responsesSupports : adapters[family]?.chatSupports;
