import type { Deps } from '../../deps.ts';
import type { UpstreamMapping } from '../../domain/catalog/catalog.ts';
import type { ChatSupports } from '../../domain/chat/chat-supports.ts';

/** What a family supports of a chat through the API and at the vendor that a mapping names; undefined if the family has no such API. */
export function supportsOf(
  adapters: Deps['adapters'],
  family: string,
  api: UpstreamMapping['api'],
  vendorName: string | undefined,
): ChatSupports | undefined {
  const adapter = adapters[family];
  if (api === 'responses') return adapter?.responsesSupports;
  const vendor = vendorName === undefined ? undefined : adapter?.chatVendors?.[vendorName];
  return adapter?.chatSupports && vendor ? { ...adapter.chatSupports, vendor } : adapter?.chatSupports;
}
