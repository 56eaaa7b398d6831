import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../src/db/database.ts';
import { allocatedBytes, countingGarbage } from '../test/support/allocated-bytes.ts';
import { writeHistory } from '../test/support/history.ts';
import { sayBooks, startChatBench } from './chat-bench.ts';
import { chatBody, chatHeaders, makeKeys } from './chat-load.ts';
import { cpuSeconds } from './cpu-seconds.ts';
import { sendRequests } from './http-load.ts';
import { say, sayTable } from './report.ts';

const chats = 2_000;
const slices = 20;
const endedChats = 20_000;
const keyCount = 64;
/** A chat alone takes so long that fewer say as much. */
const chatsAlone = 400;
const idleSeconds = 5;

/** What PostgreSQL has counted since its last reset, for all clients of the database. */
interface DatabaseCounts {
  statements: number;
  nested: number;
  rows: number;
  walBytes: number;
  blocks: number;
}

/**
 * Counts what a chat costs in units that a busy machine does not change: bytes that the gateway allocates, statements, row versions, WAL and blocks of
 * PostgreSQL. CPU stands beside that of a bare Koa, in slices that alternate.
 */
export async function benchChatCount(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-count-'));
  const garbageFile = join(folder, 'garbage');
  const {
    upstream: _upstream,
    servers: _servers,
    proxy,
    gateway,
    close,
  } = await startChatBench({
    upstream: ['upstream'],
    env: countingGarbage(garbageFile),
    postgresSettings: { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'all' },
  });
  try {
    const book = await gateway.project({ credits: 2 * endedChats });
    await writeHistory(gateway.databaseUrl, book, { chats: endedChats, tasks: endedChats / 5 });
    const keys = await makeKeys(gateway, keyCount);
    const pid = gateway.pids()['api-1'] ?? 0;
    const allocated = () => allocatedBytes(pid, garbageFile);
    const send = (requests: number, connections: number) =>
      sendRequests({
        origin: gateway.baseUrl,
        path: '/api/v1/chat/completions',
        connections,
        requests,
        request: (n) => ({ headers: chatHeaders(keys, n), body: chatBody }),
      });
    const bare = (requests: number, connections: number) =>
      sendRequests({
        origin: proxy.url,
        path: '/v1/chat/completions',
        connections,
        requests,
        request: (n) => ({ headers: chatHeaders([''], n), body: chatBody }),
      });
    await gateway.database.query('', 'create extension if not exists pg_stat_statements');
    await send(chats, 32);
    await bare(chats, 32);
    const idle = await count(gateway.database, allocated, () => pause(idleSeconds * 1_000));
    const lines: string[][] = [];
    for (const [connections, requests] of [
      [32, chats],
      [1, chatsAlone],
    ] as const) {
      let cpu = 0;
      let bareCpu = 0;
      const measured = await count(gateway.database, allocated, async () => {
        for (let slice = 0; slice < slices; slice++) {
          const before = [cpuSeconds(pid), cpuSeconds(proxy.pid)] as const;
          await send(requests / slices, connections);
          await bare(requests / slices, connections);
          cpu += cpuSeconds(pid) - before[0];
          bareCpu += cpuSeconds(proxy.pid) - before[1];
        }
      });
      const perChat = (of: (counts: typeof measured) => number): number =>
        (of(measured) - (of(idle) * measured.seconds) / idle.seconds) / requests;
      lines.push([
        String(connections),
        (perChat(({ bytes }) => bytes) / 1_000).toFixed(1),
        perChat(({ statements }) => statements).toFixed(2),
        perChat(({ nested }) => nested).toFixed(1),
        perChat(({ rows }) => rows).toFixed(2),
        (perChat(({ walBytes }) => walBytes) / 1_000).toFixed(2),
        perChat(({ blocks }) => blocks).toFixed(1),
        ((cpu * 1_000) / requests).toFixed(3),
        (cpu / bareCpu).toFixed(2),
      ]);
    }
    sayCounts(lines);
    await sayBooks(gateway, '');
  } finally {
    await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function sayCounts(lines: readonly (readonly string[])[]): void {
  say(`\n${chats} chats at 32 connections and ${chatsAlone} at one, less what an idle gateway does:\n`);
  sayTable(
    [
      'connections',
      'kB allocated',
      'statements',
      'with those inside functions',
      'row versions',
      'WAL kB',
      'blocks',
      'CPU s/1000',
      '× bare Koa',
    ],
    lines,
  );
}

async function count(
  database: Database,
  allocated: () => Promise<number>,
  work: () => Promise<unknown>,
): Promise<DatabaseCounts & { bytes: number; seconds: number }> {
  await database.query('', 'select pg_stat_statements_reset()');
  const before = await versionsOf(database);
  await allocated();
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1_000;
  const bytes = await allocated();
  const [counts] = await database.query<Omit<DatabaseCounts, 'rows'>>(
    '',
    `select coalesce(sum(calls) filter (where toplevel), 0)::float8 as statements, coalesce(sum(calls), 0)::float8 as nested,
       coalesce(sum(wal_bytes) filter (where toplevel), 0)::float8 as "walBytes",
       coalesce(sum(shared_blks_hit + shared_blks_read) filter (where toplevel), 0)::float8 as blocks
     from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database()) and query !~ 'pg_stat_'`,
  );
  if (!counts) throw new Error('PostgreSQL counted nothing.');
  return { ...counts, rows: (await versionsOf(database)) - before, bytes, seconds };
}

/** Versions of rows that this database has written. */
async function versionsOf(database: Database): Promise<number> {
  await database.query('', 'select pg_stat_force_next_flush()');
  const [row] = await database.query<{ n: number }>(
    '',
    `select coalesce(sum(n_tup_ins + n_tup_upd), 0)::float8 as n from pg_stat_user_tables`,
  );
  return row?.n ?? 0;
}
