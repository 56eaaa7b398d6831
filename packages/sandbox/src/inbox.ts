import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { json, type FamilyCall, type Reply } from './family.ts';

interface Received {
  headers: IncomingHttpHeaders;
  /** The raw bytes, because signatures cover the bytes. */
  body: string;
  /** ISO 8601. */
  at: string;
}

/**
 * Receives callbacks at `/_sandbox/inbox/NAME` and lists them at `…/NAME/received`. The query scripts the answer: `status`,
 * `delay` (milliseconds), `retry_after`, `location`, and `times=N`, which limits all of them to the first N deliveries.
 */
export function createInbox() {
  const boxes = new LRUCache<string, { count: number; received: Received[] }>({ max: 5_000 });
  return {
    answer(
      [name = '', leaf = '']: string[],
      query: URLSearchParams,
      { method, headers, body }: Pick<FamilyCall, 'method' | 'headers' | 'body'>,
    ): Reply {
      if (name === '') return json(404, { error: 'not_found' });
      const box = boxes.get(name) ?? { count: 0, received: [] };
      if (leaf === 'received') return json(200, box.received);
      if (method === 'GET') return json(405, { error: 'method_not_allowed' }, { allow: 'POST' });

      box.count += 1;
      box.received.push({ headers, body, at: new Date().toISOString() });
      if (box.received.length > receivedMax) box.received.shift();
      boxes.set(name, box);

      const isScripted = box.count <= Number(query.get('times') ?? Infinity);
      if (!isScripted) return json(200, { received: true });
      const retryAfter = query.get('retry_after');
      const location = query.get('location');
      const headersOfReply = { ...(retryAfter && { 'retry-after': retryAfter }), ...(location && { location }) };
      const reply = json(statusOf(query.get('status')), { received: true }, headersOfReply);
      const ms = Math.min(Number(query.get('delay') ?? 0) || 0, delayMsMax);
      return ms > 0 ? { kind: 'later', ms, reply } : reply;
    },
  };
}

const receivedMax = 1_000;
const delayMsMax = 15 * 60_000;

/** A final HTTP status. Any other value becomes 200. */
const statusOf = (text: string | null): number => (/^[2-5]\d\d$/.test(text ?? '') ? Number(text) : 200);
