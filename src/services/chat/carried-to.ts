import type { Deps } from '../../deps.ts';
import type { ChatRequest } from '../../domain/chat/chat.ts';
import { computedOnce } from '../../domain/computed-once.ts';
import { carriedBy } from '../../domain/chat/chat-supports.ts';
import type { PreparedChat } from './prepare-chat.ts';
import { supportsOf } from './supports-of.ts';

interface Carried {
  request: ChatRequest;
  leftOut: string[];
  unsent: string[];
}

/** What `carriedTo` has computed for a request, by family: it is called when the request is sent, when its answer begins and when it is billed. */
const carriedByFamily = computedOnce((_request: ChatRequest) => new Map<string, Carried>());

/**
 * The request as one family is sent it, and all fields of the client that are left out there, by the names of the shared checks. `unsent`: the
 * parameters that its vendor lacks, of a request that is not tolerant.
 */
export function carriedTo(
  { adapters }: Pick<Deps, 'adapters'>,
  { entry, request }: Pick<PreparedChat, 'entry' | 'request'>,
  family: string,
): Carried {
  const byFamily = carriedByFamily(request);
  const before = byFamily.get(family);
  if (before) return before;
  const mapping = entry.private.upstream[family];
  const supports = mapping && supportsOf(adapters, family, mapping.api, mapping.vendor);
  if (!mapping || !supports) throw new Error(`the family ${family} has no chat or no mapping of the model`);
  const carried = carriedBy(mapping, supports, request);
  const whole = { ...carried, leftOut: [...(request.leftOut ?? []), ...carried.leftOut] };
  byFamily.set(family, whole);
  return whole;
}
