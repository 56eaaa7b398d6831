import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';

const DevFile = z.object({ base_url: z.string(), api_key: z.string(), sandbox_url: z.string() });

/** A gateway as `npm start` runs it, with the sandbox as its provider. */
export interface Dev {
  baseUrl: string;
  apiKey: string;
  sandboxUrl: string;
  stop(): Promise<void>;
}

/** Starts one on free ports, in a folder of its own. */
export async function startDev(): Promise<Dev> {
  const home = mkdtempSync(join(tmpdir(), 'tollgate-agents-'));
  const ports = Object.fromEntries(
    ['PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT', 'SANDBOX_PORT', 'PGPORT'].map((name) => [name, '0']),
  );
  const env = { ...process.env, ...ports, TOLLGATE_HOME: home };
  const child = spawn(process.execPath, ['packages/dev-stack/src/main.ts'], { env, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const file = join(home, 'dev.json');
  while (!existsSync(file)) {
    if (child.exitCode !== null) throw new Error('The gateway did not start.');
    await wait(500);
  }
  const dev = DevFile.parse(JSON.parse(readFileSync(file, 'utf8')));
  return {
    baseUrl: dev.base_url,
    apiKey: dev.api_key,
    sandboxUrl: dev.sandbox_url,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      rmSync(home, { recursive: true, force: true });
    },
  };
}
