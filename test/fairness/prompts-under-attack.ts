import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { chat, chatBody, chatModel, chatRoute, verdictOf } from '../services/chat/chats.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';

/** The only channel of the model in these tests, so that another project has no other when it rests. */
export const onlyChannel = 'sandbox-a-openai';

export const keepOnlyChannel = ({ database }: Gateway): Promise<unknown> =>
  database.query('test-only-channel', 'update channel set enabled = (name = $1)', [onlyChannel]);

/**
 * Sends `perSecond` prompts a second for some seconds, waits for every answer and returns the number of each verdict. While
 * `inFlightMax` of them wait for their answer, no further prompt is sent.
 */
export async function sendPrompts(
  gateway: Gateway,
  {
    from,
    perSecond,
    seconds,
    scripts,
    model = chatModel,
    inFlightMax = Infinity,
  }: {
    from: TestProject;
    perSecond: number;
    seconds: number;
    scripts: readonly string[];
    model?: string;
    inFlightMax?: number;
  },
): Promise<Record<string, number>> {
  const open = new Set<Promise<unknown>>();
  const counts: Record<string, number> = {};
  const began = performance.now();
  for (let n = 0; n < perSecond * seconds; n++) {
    await sleep(Math.max(0, began + (n * 1_000) / perSecond - performance.now()));
    while (open.size >= inFlightMax) await Promise.race(open);
    const baseUrl = gateway.baseUrls[n % gateway.baseUrls.length] ?? gateway.baseUrl;
    const prompt = `attack ${n} [[${scripts[n % scripts.length] ?? ''}]]`;
    const answered = verdictOfPrompt(`${baseUrl}${chatRoute}`, from.apiKey, chatBody(prompt, { model })).then(
      (verdict) => {
        counts[verdict] = (counts[verdict] ?? 0) + 1;
        open.delete(answered);
      },
    );
    open.add(answered);
  }
  await Promise.all(open);
  return counts;
}

/** Longer than a chat may take (`CHAT_DEADLINE_SECONDS`). */
const answerMs = 150_000;

async function verdictOfPrompt(url: string, apiKey: string, body: object): Promise<string> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(answerMs),
  });
  const refusal = Refusal.safeParse(await answer.json()).data;
  return refusal ? `${answer.status} ${refusal.error.code}` : String(answer.status);
}
const Refusal = z.object({ error: z.object({ code: z.string() }) });

export interface Served {
  /** The number of each verdict, with the number of attempts, such as `200 after 1`. */
  verdicts: Record<string, number>;
  /** Milliseconds of each chat. */
  times: number[];
}

/** Chats from some clients, on every API server, with a pause after each, until `isOver`. Each client makes at least one chat. */
export async function chatUntil(
  gateway: Gateway,
  {
    from,
    clients,
    pauseMs,
    isOver,
    model = chatModel,
  }: { from: TestProject; clients: number; pauseMs: number; isOver: () => boolean; model?: string },
): Promise<Served> {
  const served: Served = { verdicts: {}, times: [] };
  const client = async (index: number): Promise<void> => {
    const baseUrl = gateway.baseUrls[index % gateway.baseUrls.length];
    do {
      const began = performance.now();
      const answer = await chat(gateway, from.apiKey, 'hello [[latency=20]]', { baseUrl, fields: { model } });
      served.times.push(performance.now() - began);
      const verdict = `${verdictOf(answer)} after ${answer.headers.get('x-tollgate-attempts') ?? 0}`;
      served.verdicts[verdict] = (served.verdicts[verdict] ?? 0) + 1;
      await sleep(pauseMs);
    } while (!isOver());
  };
  await Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
  return served;
}

/** How often a circuit breaker tripped or an operator was needed, in the logs of all API servers. */
export const troubles = ({ logFolder, baseUrls }: Gateway): number =>
  baseUrls
    .map((_, index) => readFileSync(join(logFolder, `api-${index + 1}.log`), 'utf8'))
    .join('')
    .split('\n')
    .filter((line) => /the circuit breaker of a channel tripped|a channel needs an operator/.test(line)).length;

/** The rows of the channel's health that stopped calls of this model, now or since its last success. */
export const stops = ({ database }: Gateway, model: string): Promise<{ modelId: string; reason: string | null }[]> =>
  database.query(
    'test-stops',
    `select h.model_id, h.reason from channel_health h join channel c on c.id = h.channel_id
     where c.name = $1 and h.model_id in ($2, '*') and (h.trips > 0 or h.unavailable_until is not null or h.alarm is not null)`,
    [onlyChannel, model],
  );
