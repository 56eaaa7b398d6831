import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { z } from 'zod';

/** What the callers send, again and again. */
const GreedyRequest = z.object({
  /** The route and what is sent to it. */
  name: z.string(),
  url: z.string(),
  method: z.enum(['GET', 'POST']),
  headers: z.record(z.string(), z.string()),
  /** JSON with a list of so many equal items, or with one text of them. */
  body: z
    .object({
      head: z.string(),
      item: z.string(),
      count: z.number(),
      tail: z.string(),
      /** What stands between two items. A comma by default. */
      joint: z.string().optional(),
      /** How the body is compressed, and how often what it contains is repeated. */
      coding: z.enum(['gzip', 'deflate', 'zstd']).optional(),
      members: z.number().optional(),
    })
    .optional(),
  /** How long a caller waits after an answer that is not 200. */
  refusedPauseMs: z.number().optional(),
  /** How long it waits after 200, as a person reads what a page shows. 0 by default. */
  readPauseMs: z.number().optional(),
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

function call(
  { url, method, headers, body, refusedPauseMs = 20, readPauseMs = 0 }: GreedyRequest,
  callers: number,
  seen: Record<number, number>,
): void {
  const agent = new Agent({ keepAlive: true, maxSockets: callers });
  const text = body && bytesOf(body);
  const again = (status: number): void => {
    seen[status] = (seen[status] ?? 0) + 1;
    // A client that is refused immediately comes back after some milliseconds: without a pause it would be this program that takes the cores.
    if (status === 200 && readPauseMs === 0) next();
    else setTimeout(next, status === 200 ? readPauseMs : refusedPauseMs);
  };
  const next = (): void => {
    const length = text && {
      'content-type': 'application/json',
      'content-length': text.length,
      ...(body?.coding && { 'content-encoding': body.coding }),
    };
    let isOver = false;
    /** A server that refuses a body may reset the connection behind its answer. */
    const end = (status: number): void => {
      if (!isOver) again(status);
      isOver = true;
    };
    const sent = request(url, { method, agent, headers: { ...headers, ...length } }, (response) => {
      response.resume().once('close', () => end(response.statusCode ?? 0));
    });
    sent.on('error', () => end(0));
    sent.end(text);
  };
  // Readers do not begin together.
  for (let caller = 0; caller < callers; caller += 1) setTimeout(next, Math.random() * readPauseMs);
}

function bytesOf({
  head,
  item,
  count,
  tail,
  joint = ',',
  coding,
  members = 1,
}: Required<GreedyRequest>['body']): Buffer {
  const text = Buffer.from(head + Array(count).fill(item).join(joint) + tail);
  if (coding === undefined) return text;
  const packed = { gzip: gzipSync, deflate: deflateSync, zstd: zstdCompressSync }[coding](text);
  return Buffer.concat(Array<Buffer>(members).fill(packed));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  callAll(Plan.parse(JSON.parse(process.argv[2] ?? '')));
  process.stdin.resume().once('close', () => process.exit());
}
