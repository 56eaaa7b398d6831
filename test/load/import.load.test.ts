import { spawn } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { rowsOf } from '../db/books.ts';
import { fixtures } from '../services/imports/bad-sources.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { nodeBinary, projectFolder } from '../support/program.ts';
import { recordImport, type ImportedWhileServing } from './results.ts';

const quietSeconds = 20;
const clients = 4;
const secondsMax = 600;
const bytesMax = 1_000_000_000;

let gateway: Gateway;
let project: TestProject;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0 });
  project = await gateway.project({ credits: 1_000_000_000 });
});
afterAll(() => gateway?.stop());

/** With what one-api wrote already: 10,000 users, 50,010 tokens and 200 channels that can be imported. */
const manyRows = `begin;
  with recursive n(i) as (select 100 union all select i + 1 from n where i < 10094)
  insert into users (id, username, password, status, quota, "group", access_token, aff_code)
    select i, 'user' || i, 'x', 1, i * 1000, 'default', 't' || i, 'a' || i from n;
  with recursive n(i) as (select 0 union all select i + 1 from n where i < 49999)
  insert into tokens (id, user_id, key, status, name, expired_time, remain_quota, unlimited_quota)
    select 1000 + i, 100 + i % 9995, printf('scalekey%040d', i), 1, 'k' || i, -1, 0, 1 from n;
  with recursive n(i) as (select 100 union all select i + 1 from n where i < 293)
  insert into channels (id, type, key, status, name, models, "group", priority)
    select i, 1, 'sk-' || i, 1, 'c' || i, 'gpt-4o', 'default', 0 from n;
  commit;`;

function largeSource(): string {
  const path = join(gateway.logFolder, 'large.db');
  copyFileSync(join(fixtures, 'one-api/one-api.db'), path);
  const database = new DatabaseSync(path);
  database.exec(manyRows);
  database.close();
  return path;
}

/** The milliseconds of each chat until it is over. A chat that fails ends the measurement. */
async function chatUntil(isOver: () => boolean): Promise<number[]> {
  const times: number[] = [];
  const body = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] };
  const client = async (): Promise<void> => {
    while (!isOver()) {
      const began = performance.now();
      const answer = await gateway.create(project.apiKey, '/api/v1/chat/completions', body);
      if (answer.status !== 200) throw new Error(`a chat was refused: ${JSON.stringify(answer)}`);
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return times.sort((left, right) => left - right);
}

const chatFor = (seconds: number): Promise<number[]> => {
  const until = Date.now() + seconds * 1_000;
  return chatUntil(() => Date.now() > until);
};

const measured = (what: string, times: readonly number[]): ImportedWhileServing => ({
  what,
  chats: times.length,
  p50Ms: times[Math.floor(times.length * 0.5)] ?? NaN,
  p95Ms: times[Math.floor(times.length * 0.95)] ?? NaN,
});

/** Runs the command in a process of its own. `peakBytes` is the most memory that it had. */
function startImport(from: string) {
  const child = spawn(nodeBinary, ['src/main/cli.ts', 'import', 'one-api', '--from', from, '--json'], {
    cwd: projectFolder,
    env: gateway.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const began = performance.now();
  const state = { isOver: false, code: -1, seconds: 0, peakBytes: 0, printed: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (state.printed += text));
  child.once('close', (code) =>
    Object.assign(state, { isOver: true, code, seconds: (performance.now() - began) / 1_000 }),
  );
  const watch = async (): Promise<void> => {
    while (!state.isOver) {
      state.peakBytes = Math.max(state.peakBytes, peakOf(child.pid));
      await sleep(100);
    }
  };
  return { state, ended: watch() };
}

const peakOf = (pid: number | undefined): number => {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8'))?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
};

it('imports 10,000 users, 50,000 keys and 200 channels in 10 minutes and 1 GB, while chats are answered', async () => {
  const source = largeSource();
  await chatFor(5);
  const before = await chatFor(quietSeconds);
  const { state, ended } = startImport(source);
  const during = await chatUntil(() => state.isOver);
  await ended;
  expect({ code: state.code, printed: JSON.parse(state.printed) as unknown }).toMatchObject({
    code: 0,
    printed: { created: { projects: 10_000, keys: 50_010, channels: 200 } },
  });
  const after = await chatFor(quietSeconds);
  await recordImport([
    measured('before the import', before),
    measured(`during the import, ${Math.round(state.seconds)} s, ${Math.round(state.peakBytes / 1e6)} MB`, during),
    measured('after the import', after),
  ]);
  expect(state.seconds).toBeLessThan(secondsMax);
  expect(state.peakBytes).toBeLessThan(bytesMax);
  expect(await rowsOf(gateway.database, `select count(*)::int as n from import_item where kind = 'key'`)).toEqual([
    { n: 50_010 },
  ]);
  // Autovacuum would analyze the ledger a million entries later.
  const counted = `select reltuples >= 10000 as is_counted from pg_class where oid = 'ledger_entry'::regclass`;
  expect(await rowsOf(gateway.database, counted)).toEqual([{ isCounted: true }]);
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
});
