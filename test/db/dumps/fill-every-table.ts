import { readFileSync } from 'node:fs';
import { applyCatalog } from '../../../src/services/catalog/apply-catalog.ts';
import { addChannel } from '../../../src/services/channels/add-channel.ts';
import type { Deps } from '../../../src/deps.ts';
import { buildQuietDeps } from '../../support/built-deps.ts';
import { run, type Book } from '../books.ts';
import type { DumpedSecrets } from './dumped-secrets.ts';
import { actor, fillAdmin, fillProjects } from './fill-access.ts';
import { fillChats } from './fill-chats.ts';
import { fillTasks } from './fill-tasks.ts';

/**
 * Writes rows into every table as a running gateway does, with tasks, chats, callbacks and access in each state that an upgrade may find.
 * Returns what clients and operators know of them.
 */
export async function fillEveryTable(databaseUrl: string): Promise<DumpedSecrets> {
  const { deps, close } = await buildQuietDeps(databaseUrl);
  try {
    const { keyId, ...access } = await fillProjects(deps);
    const book: Book = { projectId: access.projectId, keyId };
    const channels = await fillCatalog(deps, book);
    const { runningTasks, replay } = await fillTasks(deps, book, channels.replicate.channelId);
    const chat = await fillChats(deps, book, channels.openai);
    await fillScheduledJobs(deps, book);
    const { adminToken } = await fillAdmin(deps, access.projectId);
    await fillAlarms(deps);
    return { ...access, adminToken, channelCredential, replays: { task: replay, chat }, runningTasks };
  } finally {
    await close();
  }
}

const channelCredential = 'r8_dumped';

interface DumpedChannel {
  channelId: string;
  channelName: string;
}

async function fillCatalog(deps: Deps, { projectId }: Book): Promise<Record<'replicate' | 'openai', DumpedChannel>> {
  const { db } = deps;
  const texts = [{ name: 'catalog.yaml', text: readFileSync(new URL('./catalog.yaml', import.meta.url), 'utf8') }];
  await applyCatalog(deps, { texts, actor });
  const add = async (adapter: string): Promise<DumpedChannel> => {
    const about = { baseUrl: 'http://127.0.0.1:9', groups: ['dump'], priority: 1, weight: 1, enabled: true };
    const name = `dumped-${adapter}`;
    const { channelId } = await addChannel(deps, {
      name,
      adapter,
      credential: channelCredential,
      listCheck: true,
      actor,
      ...about,
    });
    return { channelId, channelName: name };
  };
  const channels = { replicate: await add('replicate'), openai: await add('openai') };
  const { channelId } = channels.openai;
  await run(db, `select note_channel_failure($1, 'dump-chat-1', 'timeout', 1, true, 5, 10, 300)`, [channelId]);
  await run(db, `select note_channel_use($1, 'dump-chat-1', $2, true, 60, 80)`, [channelId, projectId]);
  await run(db, `select note_model_list($1, '{dump-chat-1}', '{the list lacks dump-chat-1}', true, 86400)`, [
    channelId,
  ]);
  await run(
    db,
    `insert into channel_history (channel_id, span, at, ok, refused, transient, unknown, durations)
     values ($1, 'minute', date_trunc('minute', clock_timestamp()), 2, 0, 1, 0, '{0,1,1}')`,
    [channelId],
  );
  return channels;
}

async function fillScheduledJobs({ db }: Deps, { keyId }: Book): Promise<void> {
  await run(db, `select begin_job('summaries', 'run_1', 'operator', 60, false)`);
  await run(db, `update job_run set state = 'succeeded', ended_at = clock_timestamp(), summary = '{"months": 1}'`);
  await run(db, `select rebuild_summary((clock_timestamp() at time zone 'UTC')::date, 1000, 0, 5)`);
  await run(db, 'select fold_traffic(0, 1000)');
  await run(db, 'select ensure_api_detail_partitions()');
  await run(
    db,
    `insert into api_detail (at, request_id, method, route, key_id, status, ms)
     values (clock_timestamp(), 'req_1', 'POST', '/api/v1/chat/completions', $1, 200, 12)`,
    [keyId],
  );
}

async function fillAlarms({ db }: Deps): Promise<void> {
  await run(
    db,
    `insert into alarm (name, subject, message, level, count, first_at, last_at)
     values ('account', 'dumped-openai', 'a channel needs an operator', 'error', 2, clock_timestamp(), clock_timestamp())`,
  );
  await run(
    db,
    `insert into alarm_silence (id, name, subject, reason, created_by, until)
     values ('sil_1', 'account', 'dumped-openai', 'the invoice is paid', 'cli:root', clock_timestamp() + interval '2 hours')`,
  );
}
