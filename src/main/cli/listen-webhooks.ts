import { receiverAnswerBytesMax } from '../../domain/callbacks/callback-schedule.ts';
import { z } from 'zod';
import { OperatorError } from '../../services/operator-error.ts';
import { createEgress, type Egress } from '../../platform/egress/egress.ts';
import { loopbackCidrs } from '../../platform/egress/public-address.ts';
import type { ListenCount, ListenRequest, ActionDeps } from '../../admin/action-deps.ts';
import { followEvents } from './event-source.ts';
import { clientEnvironment } from './operator-environment.ts';

const TIMEOUT_MS = 15_000;

interface Listening extends ListenRequest {
  baseUrl: string;
  apiKey: string;
  signal: AbortSignal;
  say: (line: string) => void;
}

/** The listener of the command line: until SIGINT or SIGTERM, with a line to stderr for each callback. */
export const createListener = (env: Record<string, string | undefined>): ActionDeps['listener'] => ({
  async listen(request) {
    const environment = clientEnvironment(env);
    const { baseUrl = environment.baseUrl, apiKey = environment.apiKey } = request;
    if (!baseUrl) throw new OperatorError('No gateway runs here: name one with --url or TOLLGATE_BASE_URL.');
    if (!apiKey) throw new OperatorError('Name a key with the scope read with --api-key or TOLLGATE_API_KEY.');
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    const signals = ['SIGINT', 'SIGTERM'] as const;
    for (const name of signals) process.on(name, abort);
    const say = (line: string): void => void process.stderr.write(`${line}\n`);
    try {
      return await listenToWebhooks({ ...request, baseUrl, apiKey, signal: stop.signal, say });
    } finally {
      for (const name of signals) process.off(name, abort);
    }
  },
});

/**
 * Passes the callbacks of the key's project on, one after the other and as they were signed, until `signal` fires. A callback that no server
 * accepts is not tried again. Throws `OperatorError` if the gateway refuses the key.
 */
export async function listenToWebhooks({ baseUrl, apiKey, targets, signal, say }: Listening): Promise<ListenCount> {
  const egress = createEgress({ allowCidrs: loopbackCidrs, callbackPorts: [] });
  const url = `${baseUrl.replace(/\/+$/, '')}/api/v1/webhooks/events`;
  const count = { accepted: 0, refused: 0 };
  let isReady = false;
  try {
    for await (const { event, data } of followEvents({ url, apiKey, signal, onTrouble: say })) {
      const message: unknown = JSON.parse(data);
      if (event === 'listening') {
        if (!isReady)
          say(`Passing the callbacks of ${ProjectIn.parse(message).project_id} on to ${targets[0]}. Ctrl-C ends it.`);
        isReady = true;
        continue;
      }
      const callback = Callback.parse(message);
      const { status, outcome } = await send(egress, targets, callback);
      count[status !== null && status >= 200 && status < 300 ? 'accepted' : 'refused'] += 1;
      say(`${new Date().toISOString()} ${event} ${callback.headers['webhook-id']} → ${outcome}`);
    }
    return count;
  } finally {
    await egress.close();
  }
}

const ProjectIn = z.object({ project_id: z.string() });
const Callback = z.object({ headers: z.record(z.string(), z.string()), body: z.string() });

async function send(
  egress: Egress,
  targets: readonly string[],
  { headers, body }: z.infer<typeof Callback>,
): Promise<{ status: number | null; outcome: string }> {
  let outcome = '';
  for (const url of targets) {
    const answer = await egress.fetch(url, {
      method: 'POST',
      headers,
      body,
      timeoutMs: TIMEOUT_MS,
      maxBytes: receiverAnswerBytesMax,
    });
    if (answer.kind === 'answer') return { status: answer.status, outcome: String(answer.status) };
    outcome = `${answer.kind}: ${answer.reason}`;
    // A server that took the callback must not get it again at its other address.
    if (answer.reason !== 'connect') break;
  }
  return { status: null, outcome };
}
