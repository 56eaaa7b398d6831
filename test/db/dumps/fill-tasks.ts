import { adjustCredits } from '../../../src/services/ledger/adjust-credits.ts';
import { resolveTask } from '../../../src/services/tasks/end/resolve-task.ts';
import { beginAttempt, endAttempt, saveProviderRef, type AttemptMemory } from '../../../src/db/tasks/attempts.ts';
import { refuseCancel, requestCancel } from '../../../src/db/tasks/cancels.ts';
import { claimDelivery, endDeliveryTry, saveDeliveryBody } from '../../../src/db/callbacks/deliveries.ts';
import { recordFile } from '../../../src/db/files/files.ts';
import type { NewTask } from '../../../src/db/ledger/ledger.ts';
import { parkProviderJob } from '../../../src/db/tasks/parked-provider-jobs.ts';
import { deleteTaskRow } from '../../../src/db/tasks/tasks.ts';
import type { Deps } from '../../../src/deps.ts';
import { deliveryStates, type DeliveryState } from '../../../src/domain/callbacks/delivery-state.ts';
import { taskSnapshot } from '../../../src/domain/tasks/task-snapshot.ts';
import { newId } from '../../../src/platform/crypto/ids.ts';
import { admitted, newTask, taskEnd, type Book } from '../books.ts';
import { actor } from './fill-access.ts';
import { boundTo } from './fill-chats.ts';
import type { DumpedReplay, DumpedSecrets } from './dumped-secrets.ts';

/** Longer than any database is upgraded: until then its ended tasks and files are kept. */
const decades = 50 * 365 * 86_400;

type Filled = { runningTasks: DumpedSecrets['runningTasks']; replay: DumpedSecrets['replays']['task'] };

/** Writes tasks in each state, with attempts, files, cancels and deliveries. `channelId` is of a channel that can make them. */
export async function fillTasks(deps: Deps, book: Book, channelId: string): Promise<Filled> {
  const { db, ledger } = deps;
  const entry = await deps.catalog.find('dump-image-1');
  if (!entry) throw new Error('The catalog of the dump has no image model.');
  const input = { prompt: 'a red fox', img_size: '1k' };
  const snapshot = { ...taskSnapshot(entry, input), credits: 4 };
  const aTask = (over: Partial<NewTask> = {}): NewTask =>
    newTask(book, 4, { ...ids(), modelId: entry.model.id, input, snapshot, deadlineSeconds: 600, ...over });
  const reserved = (over?: Partial<NewTask>): Promise<NewTask> => admitted(ledger, aTask(over));
  const attempted = async (over?: Partial<NewTask>): Promise<Attempted> => {
    const { taskId } = await reserved(over);
    return { taskId, held: await begin(deps, { taskId, channelId }) };
  };
  const submitted = async (providerJobId: string, over?: Partial<NewTask>): Promise<Attempted> => {
    const attempt = await attempted(over);
    await saveProviderRef(db, attempt.held, { prediction_id: providerJobId });
    return attempt;
  };
  const ended = async (status: 'succeeded' | 'failed' | 'canceled', over?: Partial<NewTask>): Promise<Ended> => {
    const { taskId, held } = await submitted('job-ended', over);
    await endAttempt(db, held, { outcome: attemptOutcomes[status], ...(status === 'succeeded' && { outputs: [] }) });
    const end = { ...taskEnd(taskId, status), deliveryId: newId('dlv'), eventId: newId('evt') };
    await ledger.finishTask({ ...end, retentionSeconds: decades });
    return { taskId, deliveryId: end.deliveryId };
  };

  const request: DumpedReplay = {
    path: '/api/v1/images/generate',
    idempotencyKey: 'key-1',
    body: { model: entry.model.id, ...input },
  };
  const open = aTask({ metadata: { order: '7' }, maxCredits: 5 });
  await ledger.createTask(open);
  const queued = await reserved({ idempotency: boundTo(request) });
  const submitting = await attempted({ callbackUrl: hook });
  const running = await submitted('job-running', { callbackUrl: hook });
  const parked = await submitted('job-parked', { metadata: { order: '8' } });
  await parkProviderJob(db, parked.held, book.projectId, { leastSeconds: 0.1, mostSeconds: 60 });
  const refusedCancel = await submitted('job-not-stopped');
  const cancel = await requestCancel(db, refusedCancel.taskId, 60);
  if (typeof cancel !== 'object') throw new Error('The cancel was not recorded.');
  await refuseCancel(db, refusedCancel.taskId, cancel.mark);

  await refused(deps, aTask());
  await ended('failed');
  await ended('canceled');
  const unknown = await attempted();
  await endAttempt(db, unknown.held, { outcome: 'unknown', errorClass: 'interrupted', detail: 'no answer' });
  await ledger.finishTask({ ...taskEnd(unknown.taskId, 'failed'), outcomeUnknown: true, retentionSeconds: decades });
  await resolveTask(deps, { taskId: unknown.taskId, outcome: 'bought', reference: 'ticket-1', actor });
  const succeeded = await ended('succeeded');
  await recordFile(db, { ...aFile, id: newId('file'), projectId: book.projectId, taskId: succeeded.taskId });
  await adjustCredits(deps, { requestId: succeeded.taskId, amount: 2, reason: 'the result was late', actor });
  const deleted = await ended('succeeded');
  await deleteTaskRow(db, deleted.taskId);

  await ended('succeeded', { callbackUrl: hook });
  for (const state of deliveryStates) {
    const { deliveryId } = await ended('succeeded', { callbackUrl: hook });
    await tryOnce(deps, deliveryId, state);
  }
  const runningTasks = {
    open: open.taskId,
    queued: queued.taskId,
    submitting: submitting.taskId,
    submitted: running.taskId,
    parked: parked.taskId,
    cancelRefused: refusedCancel.taskId,
  };
  return { runningTasks, replay: { ...request, taskId: queued.taskId } };
}

/** Where callbacks go. A test leads them to a server of its own. */
const hook = 'http://127.0.0.1:9/hook';

const attemptOutcomes = { succeeded: 'ok', failed: 'refused', canceled: 'canceled' } as const;

const statusOfTry: Record<DeliveryState, number | null> = {
  pending: 503,
  delivered: 200,
  exhausted: 500,
  gone: 410,
  blocked: null,
  replaced: 503,
};

const ids = (): Pick<NewTask, 'taskId' | 'requestId'> => ({ taskId: newId('task'), requestId: newId('req') });

interface Attempted {
  taskId: string;
  held: AttemptMemory;
}

interface Ended {
  taskId: string;
  deliveryId: string;
}

/** Begins an attempt whose process has ended without an answer, so that another one may take it over immediately. */
async function begin(
  { db }: Deps,
  { taskId, channelId }: { taskId: string; channelId: string },
): Promise<AttemptMemory> {
  const held = await beginAttempt(db, {
    attemptId: newId('att'),
    taskId,
    channelId,
    adapter: 'replicate',
    fence: 'fence',
    submitSeconds: 0,
    costMicroUsd: 20_000,
    probeSeconds: 60,
  });
  if (!held) throw new Error('The attempt was not begun.');
  return held;
}

/** A task without enough credits. */
async function refused({ ledger }: Deps, task: NewTask): Promise<void> {
  await ledger.createTask({ ...task, credits: 100_000 });
  const { admitted: isAdmitted } = await ledger.reserveTask(task.taskId, false);
  if (isAdmitted) throw new Error('A task without enough credits was admitted.');
}

/** Sends a callback once, which gets it into this state. */
async function tryOnce({ db }: Deps, deliveryId: string, state: DeliveryState): Promise<void> {
  await saveDeliveryBody(db, deliveryId, '{"type":"task.succeeded"}');
  const claim = await claimDelivery(db, { deliveryId, token: 'token', leaseSeconds: 60 });
  if (!claim?.claimed) throw new Error('The callback was not claimed.');
  const { claimedAt } = claim;
  const status = statusOfTry[state];
  const end = { status, errorClass: status === null ? 'blocked' : null, delaySeconds: 0, claimedAt };
  await endDeliveryTry(db, { deliveryId, token: 'token', state, ...end });
}

const aFile = {
  purpose: 'output',
  storageKey: 'outputs/1',
  mimeType: 'image/png',
  bytes: 3,
  sha256: '0'.repeat(64),
  width: 1,
  height: 1,
  duration: null,
  keptSeconds: decades,
} as const;
