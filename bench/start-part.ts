import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Part {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

/** Starts a program of `bench/bare`, whose first line is its URL. It ends with this process. */
export async function startPart(name: string, args: readonly string[] = []): Promise<Part> {
  const file = fileURLToPath(new URL(`./bare/${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const first = await Promise.race([once(child.stdout, 'data'), exited.then(() => null)]);
  if (first === null || child.pid === undefined) throw new Error(`${name} exited before it was ready`);
  return {
    url: String(first[0]).trim(),
    pid: child.pid,
    async stop() {
      child.stdin.end();
      await exited;
    },
  };
}
