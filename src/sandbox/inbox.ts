import type { IncomingHttpHeaders } from 'node:http';
import { json, type Reply } from './family.ts';

export interface Received {
  headers: IncomingHttpHeaders;
  /** The raw bytes, because signatures cover the bytes. */
  body: string;
  /** ISO 8601. */
  at: string;
}

interface InboxCall {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: string;
}

/**
 * Receives callbacks at `/_sandbox/inbox/NAME` and lists them at `…/NAME/received`. The query scripts the answer: `status`,
 * `delay` (milliseconds), `retry_after`, `location`, and `times=N`, which limits all of them to the first N deliveries.
 */
export function createInbox() {
  const boxes = new Map<string, { count: number; received: Received[] }>();
  return {
    answer(names: string[], { method, url, headers, body }: InboxCall): Reply {
      const [name = '', leaf = ''] = names;
      if (name === '') return json(404, { error: 'not_found' });
      const box = boxes.get(name) ?? { count: 0, received: [] };
      if (leaf === 'received') return json(200, box.received);
      if (method === 'GET') return json(405, { error: 'method_not_allowed' }, { allow: 'POST' });

      box.count += 1;
      box.received.push({ headers, body, at: new Date().toISOString() });
      if (box.received.length > receivedMax) box.received.shift();
      boxes.delete(name);
      boxes.set(name, box);
      if (boxes.size > boxesMax) {
        const oldest = boxes.keys().next();
        if (!oldest.done) boxes.delete(oldest.value);
      }

      const scripted = box.count <= Number(url.searchParams.get('times') ?? Infinity);
      if (!scripted) return json(200, { received: true });
      const retryAfter = url.searchParams.get('retry_after');
      const location = url.searchParams.get('location');
      const reply = json(
        statusOf(url.searchParams.get('status')),
        { received: true },
        { ...(retryAfter && { 'retry-after': retryAfter }), ...(location && { location }) },
      );
      const ms = Math.min(Number(url.searchParams.get('delay') ?? 0) || 0, delayMsMax);
      return ms > 0 ? { kind: 'later', ms, reply } : reply;
    },
  };
}

const receivedMax = 1_000;
const boxesMax = 5_000;
const delayMsMax = 15 * 60_000;

/** A final HTTP status. Any other value becomes 200. */
const statusOf = (text: string | null): number => (/^[2-5]\d\d$/.test(text ?? '') ? Number(text) : 200);
