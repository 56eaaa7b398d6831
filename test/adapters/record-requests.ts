import { createHash } from 'node:crypto';
import type { Upstream } from '../../src/adapters/channel.ts';
import type { UpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { createAdapters } from '../../src/adapters/registry.ts';
import { addressOf, upstreamRequestOf, type UpstreamCall } from '../../src/adapters/upstream/upstream-request.ts';
import { mappings, requestsOf, shippedRequest } from './shipped-requests.ts';

/** The requests that one mapping of the shipped catalog sends: how many, and the SHA-256 of all their bytes but the credential. */
export interface RecordedMapping {
  requests: number;
  sha256: string;
}

/** Records what every media mapping of the shipped catalog sends for every offered value and set of inputs, by model and family. */
export async function recordRequests(): Promise<Record<string, RecordedMapping>> {
  let sent: string[] = [];
  const caller: UpstreamCaller = {
    call(upstream, call) {
      sent.push(bytesOf(upstream, call));
      return Promise.resolve({ kind: 'not_sent', detail: 'recorded' });
    },
    stream: () => Promise.resolve({ kind: 'not_sent', detail: 'recorded' }),
    close: () => Promise.resolve(),
  };
  const adapters = createAdapters(caller);
  const recorded: Record<string, RecordedMapping> = {};
  for (const { id, family, entry, mapping } of mappings) {
    sent = [];
    const upstream = { channelId: 'c', baseUrl: 'https://provider.test/base', credential: 'a:b' };
    for (const [index, body] of requestsOf(entry).entries()) {
      const request = shippedRequest({ id, entry, mapping }, body, index);
      if (request) await adapters[family]?.submitMedia?.(upstream, request, { signal: AbortSignal.timeout(30_000) });
    }
    const hash = createHash('sha256').update(sent.join('\n')).digest('hex');
    recorded[`${id} ${family}`] = { requests: sent.length, sha256: hash };
  }
  return recorded;
}

/** Kling signs its token with the time, and a form has a boundary of its own. Everything else is compared. */
function bytesOf(upstream: Upstream, call: UpstreamCall): string {
  const address = addressOf(`${upstream.baseUrl}${call.path}`);
  if (!address) throw new Error('no address');
  const { method, origin, path, headers, body } = upstreamRequestOf(address, upstream, call, { headersTimeout: 1 });
  const { authorization: _, ...others } = Object.fromEntries(Object.entries(headers ?? {}));
  const type = String(others['content-type'] ?? '');
  const boundary = /boundary=(\S+)/.exec(type)?.[1] ?? '\n';
  const content = Buffer.isBuffer(body) ? body.toString('latin1') : typeof body === 'string' ? body : '';
  return JSON.stringify([method, origin, path, others, content]).replaceAll(boundary, 'BOUNDARY');
}
