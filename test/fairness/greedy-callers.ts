import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** What the callers send, again and again. */
const GreedyRequest = z.object({
  /** The route and what is sent to it. */
  name: z.string(),
  url: z.string(),
  method: z.enum(['GET', 'POST']),
  headers: z.record(z.string(), z.string()),
  /** JSON with a list of so many equal items. */
  body: z.object({ head: z.string(), item: z.string(), count: z.number(), tail: z.string() }).optional(),
});
export type GreedyRequest = z.infer<typeof GreedyRequest>;

const Plan = z.object({ requests: z.array(GreedyRequest), callers: z.number() });

/** How many answers of each status a request got, by its name. 0 is no answer. */
export type GreedySeen = Record<string, Record<number, number>>;

/** The program: so many callers of each request, which repeat it as soon as it is answered, until its standard input ends. */
function callAll({ requests, callers }: z.infer<typeof Plan>): void {
  const seen: GreedySeen = {};
  for (const request of requests) call(request, callers, (seen[request.name] = {}));
  setInterval(() => process.stdout.write(`${JSON.stringify(seen)}\n`), 500);
}

function call({ url, method, headers, body }: GreedyRequest, callers: number, seen: Record<number, number>): void {
  const agent = new Agent({ keepAlive: true, maxSockets: callers });
  const text = body && Buffer.from(body.head + Array(body.count).fill(body.item).join(',') + body.tail);
  const again = (status: number): void => {
    seen[status] = (seen[status] ?? 0) + 1;
    // A client that is refused at once comes back after some milliseconds: without a pause it would be this program that takes the cores.
    if (status === 200) next();
    else setTimeout(next, 20);
  };
  const next = (): void => {
    const length = text && { 'content-type': 'application/json', 'content-length': text.length };
    const sent = request(url, { method, agent, headers: { ...headers, ...length } }, (response) => {
      response.resume().once('close', () => again(response.statusCode ?? 0));
    });
    sent.once('error', () => again(0));
    sent.end(text);
  };
  for (let caller = 0; caller < callers; caller += 1) next();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  callAll(Plan.parse(JSON.parse(process.argv[2] ?? '')));
  process.stdin.resume().once('close', () => process.exit());
}
