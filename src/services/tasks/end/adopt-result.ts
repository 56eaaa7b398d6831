import { isConnectionLost } from '../../../db/retry-transient.ts';
import { adoptFile, lastCallOf, type Adoption } from '../../../db/tasks/adopt-result.ts';
import { draftFiles } from '../../../db/files/files.ts';
import type { CopiedFile } from '../../../db/ledger/ledger.ts';
import { findTask } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { isTerminal } from '../../../domain/tasks/task.ts';
import type { UpstreamOutput } from '../../../domain/channels/upstream.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import { newId } from '../../../platform/crypto/ids.ts';
import { channelOfAttempt } from '../../channels/credential-of-attempt.ts';
import { usableCredential } from '../../channels/unseal-credential.ts';
import { discardFiles } from '../../files/discard-files.ts';
import { demand, OperatorError } from '../../operator-error.ts';
import { copyOutputs } from '../attempt/copy-outputs.ts';
import { lateResult } from '../attempt/late-result.ts';

type AdoptDeps = Pick<Deps, 'adapters' | 'channels' | 'config' | 'db' | 'egress' | 'files' | 'logger' | 'sealer'>;

interface AdoptInput {
  taskId: string;
  /** A URL, or a `data:` URI. Absent: the provider is asked once more for the result of the task's last job. */
  result?: string | undefined;
  charge: boolean;
  actor: string;
}

/** One transfer of the largest clip, and some tries. */
const patienceMs = 150_000;

/**
 * Stores a result that the provider bills, and that its task did not get, as the output of this ended task. The task keeps its status, its error
 * and its refund (rules "Invariants", T1). With `charge` the quoted credits are taken by a ledger entry of their own. Each happens once,
 * however often it is called; `changed` is false if this call did neither. Throws `OperatorError`.
 */
export async function adoptResult(
  deps: AdoptDeps,
  { taskId, result, charge, actor }: AdoptInput,
): Promise<{ changed: boolean; charged: number; chargedInAll: number; task: TaskView }> {
  const before = await endedTask(deps, taskId);
  const file =
    before.output === null
      ? await storeResult(deps, before, result === undefined ? await lateResult(deps, before) : { url: result })
      : null;
  const adopted = await adopt(deps, { before, file, charge, actor }).catch(async (error: unknown) => {
    // Without an answer of the database the adoption may be committed. If it is not, retention deletes the file.
    if (file && !isConnectionLost(error)) await discardFiles(deps, [file]);
    throw error;
  });
  // Another call was faster.
  if (file && adopted.verdict === 'adopted_before') await discardFiles(deps, [file]);
  const { charged, chargedInAll } = adopted;
  const changed = adopted.verdict === 'adopted' || charged > 0;
  return { changed, charged, chargedInAll: chargedInAll ?? 0, task: await endedTask(deps, taskId) };
}

async function endedTask({ db }: AdoptDeps, taskId: string): Promise<TaskView> {
  const task = demand(await findTask(db, taskId), `task ${taskId}`);
  if (!isTerminal(task.status)) throw new OperatorError(`The task ${taskId} has not ended yet: it is ${task.status}.`);
  if (task.status === 'succeeded') throw new OperatorError(`The task ${taskId} has its own result.`);
  return task;
}

async function storeResult(deps: AdoptDeps, task: TaskView, result: UpstreamOutput): Promise<CopiedFile> {
  const id = newId('file');
  const draft = { id, storageKey: `outputs/adopted-${id}` };
  await draftFiles(deps.db, {
    projectId: task.projectId,
    taskId: task.id,
    purpose: 'output',
    drafts: [draft],
    keptSeconds: deps.config.retention.contentSeconds,
  });
  const endsAt = performance.now() + patienceMs;
  const report = await copyOutputs(deps, {
    taskId: task.id,
    type: task.type,
    copies: [{ result, draft }],
    ...(await ownOrigin(deps, task.id)),
    remainingMs: () => endsAt - performance.now(),
    signal: AbortSignal.timeout(patienceMs),
  });
  const [file] = report.kind === 'copied' ? report.files : [];
  if (file) return file;
  const why = report.kind === 'failed' ? report.detail : 'it took too long';
  throw new OperatorError(`The result could not be stored: ${why}.`);
}

/** The origin of the channel that made the result, which is trusted, and what its downloads need. */
async function ownOrigin(
  deps: AdoptDeps,
  taskId: string,
): Promise<{ channelBaseUrl: string; channelHeaders?: Record<string, string> }> {
  const call = await lastCallOf(deps.db, taskId);
  const channel = call && (await deps.channels.find(call.channelId));
  const row = channel && ((await channelOfAttempt(deps, channel, call.attemptId)) ?? channel);
  const credential = row && usableCredential(deps, row);
  if (!row || credential === null) return { channelBaseUrl: '' };
  const upstream = { channelId: row.id, baseUrl: row.baseUrl, credential };
  return { channelBaseUrl: row.baseUrl, channelHeaders: deps.adapters[row.adapter]?.outputHeaders?.(upstream) ?? {} };
}

async function adopt(
  { config, db }: AdoptDeps,
  { before, file, charge, actor }: { before: TaskView; file: CopiedFile | null; charge: boolean; actor: string },
): Promise<Adoption> {
  const keptSeconds = config.retention.contentSeconds;
  const adopted = await adoptFile(db, { taskId: before.id, file, keptSeconds, charge, actor });
  const refusal = refusals[adopted.verdict];
  if (refusal !== undefined) throw new OperatorError(refusal(before));
  return adopted;
}

const refusals: Readonly<Partial<Record<Adoption['verdict'], (task: TaskView) => string>>> = {
  unknown: ({ id }) => `The task ${id} has just been deleted.`,
  not_ended: ({ id }) => `The task ${id} has not ended yet.`,
  not_held: ({ id }) => `The task ${id} has no refund, so there is nothing to adopt a result for.`,
  erased: ({ id }) => `The content of task ${id} is erased, so it takes no result any more.`,
  no_credits: ({ id, credits, projectId }) =>
    `The project ${projectId} does not have the ${credits.quoted} credits of task ${id}. Nothing was changed.`,
};
