import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32, inflateSync } from 'node:zlib';
import { z } from 'zod';
import { processStart } from '../../packages/dev-stack/src/processes/process-identity.ts';
import { Task } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { ownPortsOfStart } from '../support/own-port.ts';
import { projectFolder } from '../support/program.ts';

const DevFile = z.object({ base_url: z.string(), api_key: z.string(), pids: z.record(z.string(), z.number()) });

/** The first start in a folder also creates a database cluster. */
const startMs = 240_000;

let home: string;
let ports: Record<string, string>;
let first: Started;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'tollgate-start-'));
  ports = await ownPortsOfStart();
  first = npmStart(home);
  await first.says('Ctrl-C stops everything.');
}, startMs);
afterAll(async () => {
  await first.stop();
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
}, startMs);

describe('npm start', () => {
  it('prints commands that create an image, poll it and download it when pasted into a shell', async () => {
    const [create = '', poll = '', download = ''] = commandsOf(first.output());
    const created = Task.parse(JSON.parse(await bash(create)));
    expect(created).toMatchObject({ type: 'image', credits: { quoted: 25_000, reserved: 25_000 } });
    const task = await eventually(
      async () => {
        // A poll during a pause of the machine may be answered 503.
        const { data: seen } = Task.safeParse(JSON.parse(await bash(poll.replace('TASK_ID', created.task_id))));
        return seen?.status === 'succeeded' && seen;
      },
      { secondsMax: 200, what: 'the image' },
    );
    const [output] = task.output ?? [];
    await bash(download.replace('OUTPUT_URL', output?.url ?? ''));
    expect(decodePng(readFileSync(join(home, 'fox.png')))).toEqual({ width: output?.width, height: output?.height });
  });

  it('refuses a second start in the same folder, and the first keeps running', async () => {
    const second = npmStart(home);
    expect(await second.ended).not.toBe(0);
    expect(second.output()).toContain(`already running on ${home}`);
    // A check that a busy machine does not answer in time fails, and is repeated.
    await eventually(async () => (await fetch(`${readDev().base_url}/readyz`)).status === 200, { what: 'readiness' });
  });

  it('stops every process in dev.json after SIGTERM', async () => {
    const { pids } = readDev();
    expect(Object.keys(pids).sort()).toEqual(['api', 'postgres', 'sandbox', 'supervisor', 'temporal', 'worker']);
    first.child.kill('SIGTERM');
    await first.ended;
    const left = () => Object.entries(pids).filter(([, pid]) => processStart(pid) !== null);
    // npm passes the signal on and may exit shortly before the command does.
    await eventually(() => Promise.resolve(left().length === 0), { what: 'the end of every process' });
  });
});

interface Started {
  child: ChildProcess;
  output(): string;
  /** Resolves once the process has printed this text. Rejects if the process ends earlier. */
  says(text: string): Promise<void>;
  ended: Promise<number>;
  stop(): Promise<void>;
}

/** Runs `npm start` as a user does, in its own folder and on its own ports. */
function npmStart(folder: string): Started {
  const child = spawn('npm', ['start'], {
    cwd: projectFolder,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      USER: process.env['USER'],
      TOLLGATE_HOME: folder,
      ...ports,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => (text += chunk));
  }
  const ended = new Promise<number>((resolve) => {
    child.once('error', () => resolve(-1));
    child.once('close', (code) => resolve(code ?? -1));
  });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    child,
    output: () => text,
    async says(wanted) {
      const secondsMax = startMs / 1_000 - 10;
      await eventually(() => Promise.resolve(text.includes(wanted) || hasEnded()), { secondsMax }).catch(
        () => undefined,
      );
      if (!text.includes(wanted)) throw new Error(`npm start did not print “${wanted}”:\n${text}`);
    },
    ended,
    async stop() {
      if (!hasEnded()) child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The complete curl commands of the banner, in order. */
const commandsOf = (banner: string): string[] =>
  [...banner.matchAll(/^ {4}curl (?:.*\\\n)*.*$/gm)].map(([command]) => command.trim());

async function bash(command: string): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-c', command], { cwd: home, timeout: 120_000 });
  return stdout;
}

const readDev = () => DevFile.parse(JSON.parse(readFileSync(join(home, 'dev.json'), 'utf8')));

/** Checks the checksum of every chunk and the number of pixel bytes (PNG, third edition, §5 and §10). Returns the size. */
function decodePng(bytes: Buffer): { width: number; height: number } {
  expect(bytes.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = 8; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    const typed = bytes.subarray(at + 4, at + 8 + length);
    expect(crc32(typed)).toBe(bytes.readUInt32BE(at + 8 + length));
    chunks.push({ type: typed.toString('latin1', 0, 4), data: typed.subarray(4) });
    at += length + 12;
  }
  expect([chunks.at(0)?.type, chunks.at(-1)?.type]).toEqual(['IHDR', 'IEND']);
  const header = chunks[0]?.data ?? Buffer.alloc(13);
  const [width, height, depth, colour] = [
    header.readUInt32BE(0),
    header.readUInt32BE(4),
    header[8] ?? 0,
    header[9] ?? 0,
  ];
  const samples = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }[colour] ?? 0;
  const pixels = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)));
  expect(pixels.length).toBe(height * (1 + Math.ceil((width * samples * depth) / 8)));
  return { width, height };
}
