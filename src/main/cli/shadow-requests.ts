import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { ActionDeps, ShadowAnswer, ShadowPair } from '../../admin/action-deps.ts';
import { answerShape } from '../../domain/imports/answer-shape.ts';
import { plainMessage } from '../../domain/plain-message.ts';
import { pause } from '../../platform/pause.ts';
import { OperatorError } from '../../services/operator-error.ts';
import { clientEnvironment } from './operator-environment.ts';

const timeoutMs = 180_000;
/** A gateway may write what a request cost after its answer. */
const usageReads = 5;
const usagePauseMs = 300;

const RecordedRequest = z.object({
  method: z.string().default('POST'),
  path: z.string().startsWith('/'),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.json().optional(),
});
type RecordedRequest = z.output<typeof RecordedRequest>;

/** Sends each request of a file to two gateways, one after the other, with the same key. */
export const createShadow = (env: Record<string, string | undefined>): ActionDeps['shadow'] => ({
  async send({ url, key, file, here = clientEnvironment(env).baseUrl }) {
    if (!here) throw new OperatorError('No gateway runs here: name it with --here or TOLLGATE_BASE_URL.');
    const pairs: ShadowPair[] = [];
    for (const request of await readRequests(file)) {
      const there = await answerOf(url, key, request);
      pairs.push({ request: `${request.method} ${request.path}`, there, here: await answerOf(here, key, request) });
    }
    return pairs;
  },
});

/** One JSON object on a line: `{"method": "POST", "path": "/v1/chat/completions", "body": {…}}`. */
async function readRequests(file: string): Promise<RecordedRequest[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new OperatorError(`The file ${file} cannot be read.`, { cause });
  });
  const requests = text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    try {
      return [RecordedRequest.parse(JSON.parse(line))];
    } catch (cause) {
      throw new OperatorError(`Line ${index + 1} of ${file} is no request such as {"path": "/v1/models"}.`, { cause });
    }
  });
  if (requests.length > 0) return requests;
  throw new OperatorError(`The file ${file} has no requests.`);
}

async function answerOf(url: string, key: string, request: RecordedRequest): Promise<ShadowAnswer> {
  const base = url.replace(/\/+$/, '');
  const spent = await spentUsd(base, key);
  try {
    const { method, path, headers, body } = request;
    const answer = await call(base + path, key, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const reported = answer.headers.get('x-litellm-response-cost');
    const usd = reported === null ? await costSince(base, key, spent, answer.ok && method !== 'GET') : Number(reported);
    return { status: answer.status, shape: answerShape(text), usd };
  } catch (error) {
    return { status: null, shape: plainMessage(error), usd: null };
  }
}

/** The difference of what the key has spent; null if the gateway does not say. */
async function costSince(base: string, key: string, before: number | null, isBought: boolean): Promise<number | null> {
  if (before === null) return null;
  for (let read = 0; read < (isBought ? usageReads : 1); read += 1) {
    const after = await spentUsd(base, key);
    if (after !== null && after !== before) return Number((after - before).toFixed(9));
    if (isBought) await pause(usagePauseMs);
  }
  return 0;
}

async function spentUsd(base: string, key: string): Promise<number | null> {
  const answer = await call(`${base}/v1/dashboard/billing/usage`, key, { method: 'GET' }).catch(() => null);
  const usage = z.object({ total_usage: z.number() }).safeParse(await answer?.json().catch(() => null));
  return usage.success ? usage.data.total_usage / 100 : null;
}

const call = (
  url: string,
  key: string,
  { headers, ...request }: { method: string; headers?: Record<string, string>; body?: string },
): Promise<Response> =>
  // eslint-disable-next-line no-restricted-globals -- the operator names both gateways, which may be on this machine
  fetch(url, {
    ...request,
    redirect: 'error',
    headers: { authorization: `Bearer ${key}`, ...headers },
    signal: AbortSignal.timeout(timeoutMs),
  });
