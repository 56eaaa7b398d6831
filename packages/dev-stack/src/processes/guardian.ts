import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { stopProcess, type StopOrder } from './stop-process.ts';

/**
 * A process that stops its parent's children after the parent has ended. It reads lines of JSON from standard input. When the input
 * ends, because the parent closed it or was killed, the guardian stops every listed process, highest rank first, and removes the listed
 * folders. Started by `startGuardian`.
 */
export const GuardianLine = z.discriminatedUnion('do', [
  z.object({
    do: z.literal('watch'),
    pid: z.number().int().positive(),
    start: z.string(),
    signal: z.enum(['SIGINT', 'SIGTERM']),
    graceSeconds: z.number().min(0).max(3_600),
    rank: z.number().int(),
  }),
  z.object({ do: z.literal('forget'), pid: z.number() }),
  z.object({ do: z.literal('remove-folder'), path: z.string().min(2) }),
]);
export type GuardianLine = z.infer<typeof GuardianLine>;

if (import.meta.main) await guard();

async function guard(): Promise<void> {
  // Ctrl-C in the terminal is for the parent. The guardian ends with its input.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const watched = new Map<number, StopOrder & { rank: number }>();
  const folders: string[] = [];
  for await (const text of createInterface({ input: process.stdin })) {
    const line = GuardianLine.parse(JSON.parse(text));
    if (line.do === 'watch') watched.set(line.pid, line);
    else if (line.do === 'forget') watched.delete(line.pid);
    else folders.push(line.path);
  }
  const ranks = [...new Set([...watched.values()].map(({ rank }) => rank))].sort((a, b) => b - a);
  for (const rank of ranks) {
    await Promise.all([...watched.values()].filter((order) => order.rank === rank).map(stopProcess));
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
