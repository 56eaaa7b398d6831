import type { Database } from '../../../src/db/database.ts';
import {
  addKey,
  admitted,
  attemptEndedOk,
  idempotently,
  newId,
  newTask,
  openBook,
  openLedger,
  run,
  taskEnd,
} from '../books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../chat-books.ts';

/** Writes rows into every table, with chats and tasks in each state that an upgrade may find: running, ended, callback pending. */
export async function fillEveryTable(db: Database): Promise<void> {
  const book = await openBook(db, { credits: 1_000, inFlightMax: 10 });
  await addKey(db, book.projectId, { budget: 500 });
  await fillCatalog(db, book);
  await fillTasks(db, book);
  await fillChats(db, book);
  await fillJobs(db, book);
  await fillAdmin(db, book);
}

type Book = Awaited<ReturnType<typeof openBook>>;

async function fillCatalog(db: Database, { keyId, projectId }: Book): Promise<void> {
  await run(
    db,
    `insert into api_key_secret (id, key_id, digest, pepper_id, prefix, last4)
     values ('sec_1', $1, sha256('secret'), 'p1', 'sk-', 'cret')`,
    [keyId],
  );
  await run(db, `insert into model (id, position, entry, private) values ('model-a', 1, '{"id": "model-a"}', '{}')`);
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups)
     values ('chn_a', 'channel-a', 'openai', 'https://example.com', 'sealed', '{default}')`,
  );
  await run(db, `select note_channel_failure('chn_a', 'model-a', 'timeout', 1, true, 5, 10, 300)`);
  await run(db, `select note_channel_use('chn_a', 'model-a', $1, true, 60, 80)`, [projectId]);
  await run(db, `select note_model_list('chn_a', '{model-a}', '{the list lacks model-a}', true, 86400)`);
  await run(
    db,
    `insert into channel_history (channel_id, span, at, ok, refused, transient, unknown, durations)
     values ('chn_a', 'minute', date_trunc('minute', clock_timestamp()), 2, 0, 1, 0, '{0,1,1}')`,
  );
}

async function fillTasks(db: Database, book: Book): Promise<void> {
  const ledger = openLedger(db);
  await ledger.createTask(newTask(book, 5, { metadata: { order: '7' }, maxCredits: 5 }));
  const running = await admitted(ledger, newTask(book, 10, idempotently('key-1')));
  await run(
    db,
    `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, operation)
     values ($1, $2, 1, 'chn_a', 'channel-a', 'fence', clock_timestamp(), '{"id": "job-1"}')`,
    [newId('att'), running.taskId],
  );
  await admitted(ledger, newTask(book, 20));
  const failed = await admitted(ledger, newTask(book, 30));
  await ledger.finishTask({ ...taskEnd(failed.taskId, 'failed'), outcomeUnknown: true });
  await run(db, `insert into task_resolution (task_id, outcome, reference) values ($1, 'bought', 'ticket-1')`, [
    failed.taskId,
  ]);

  const succeeded = await admitted(ledger, newTask(book, 40, { callbackUrl: 'https://example.com/hook' }));
  await attemptEndedOk(db, succeeded.taskId);
  const end = taskEnd(succeeded.taskId, 'succeeded');
  await ledger.finishTask(end);
  await run(db, `select claim_delivery($1, 'token', 60)`, [end.deliveryId]);
  await run(
    db,
    `select end_delivery_try($1, 'token', 'pending', 0, 503, null, extract(epoch from clock_timestamp()))`,
    [end.deliveryId],
  );
  await run(
    db,
    `insert into file (id, project_id, task_id, purpose, storage_key, mime_type, bytes, sha256, expires_at)
     values ($1, $2, $3, 'output', 'outputs/1', 'image/png', 3, repeat('0', 64), clock_timestamp() + interval '7 days')`,
    [newId('file'), book.projectId, succeeded.taskId],
  );
  await run(db, `select adjust_credits($1, 15, 'the result was late')`, [succeeded.taskId]);
}

async function fillChats(db: Database, book: Book): Promise<void> {
  const chats = openChatLedger(db);
  const idempotency = {
    route: '/api/v1/chat/completions',
    key: 'key-2',
    fingerprint: 'same body',
    keptSeconds: 86_400,
  };
  const settled = anAdmission(book, { credits: 7, rpm: 60, idempotency });
  await chats.admit(settled);
  await chats.end({ ...settledEnd(settled, 3), answer: { status: 200, body: '{}' } });
  const refunded = anAdmission(book, { credits: 8 });
  await chats.admit(refunded);
  await chats.end({ ...settledEnd(refunded, 1), settle: null });
  await run(db, 'select write_ledger_checkpoint(0, 5)');
  await chats.admit(anAdmission(book, { credits: 9, holdSeconds: 0 }));
}

async function fillJobs(db: Database, book: Book): Promise<void> {
  await run(db, `select begin_job('summaries', 'run_1', 'operator', 60, false)`);
  await run(db, `update job_run set state = 'succeeded', ended_at = clock_timestamp(), summary = '{"months": 1}'`);
  await run(db, `select rebuild_summary((clock_timestamp() at time zone 'UTC')::date, 1000, 0, 5)`);
  await run(db, 'select fold_traffic(0, 1000)');
  await run(db, 'select ensure_api_detail_partitions()');
  await run(
    db,
    `insert into api_detail (at, request_id, method, route, key_id, status, ms)
     values (clock_timestamp(), 'req_1', 'POST', '/api/v1/chat/completions', $1, 200, 12)`,
    [book.keyId],
  );
}

async function fillAdmin(db: Database, { keyId, projectId }: Book): Promise<void> {
  await run(
    db,
    `insert into alarm (name, subject, message, level, count, first_at, last_at)
     values ('account', 'channel-a', 'a channel needs an operator', 'error', 2, clock_timestamp(), clock_timestamp())`,
  );
  await run(
    db,
    `insert into alarm_silence (id, name, subject, reason, created_by, until)
     values ('sil_1', 'account', 'channel-a', 'the invoice is paid', 'cli:root', clock_timestamp() + interval '2 hours')`,
  );
  await run(
    db,
    `insert into admin_token (id, name, role, digest, pepper_id, prefix, last4, created_by)
     values ('atk_1', 'ada', 'owner', sha256('token'), 'p1', 'adm_', 'oken', 'cli:root')`,
  );
  await run(
    db,
    `insert into admin_operator (id, issuer, subject, name, role, created_by)
     values ('opr_1', 'https://id.example.com', 'ada-1', 'Ada', 'viewer', 'cli:root')`,
  );
  await run(
    db,
    `insert into admin_session (digest, token_id, operator_id, expires_at)
     values (sha256('session'), 'atk_1', null, clock_timestamp() + interval '12 hours'),
       (sha256('other session'), null, 'opr_1', clock_timestamp() + interval '12 hours')`,
  );
  await run(
    db,
    `insert into oidc_sign_in (state_sha256, expires_at) values (repeat('0', 64), clock_timestamp() + interval '10 minutes')`,
  );
  await run(db, `insert into playground_key (project_id, principal_id, key_id) values ($1, 'opr_1', $2)`, [
    projectId,
    keyId,
  ]);
  await run(
    db,
    `insert into admin_request (principal_id, key, fingerprint, expires_at)
     values ('atk_1', 'key-3', 'same body', clock_timestamp() + interval '1 day')`,
  );
}
