import { findTaskForAttempt } from '../../../db/tasks/attempts.ts';
import type { AttemptInput } from '../../../domain/tasks/workflow-contract.ts';
import { newId } from '../../../platform/crypto/ids.ts';
import { unreadableCredentials, usableCredential } from '../../channels/unseal-credential.ts';
import type { AttemptDeps, CallableChannel, ChannelSlot } from './run.ts';

type Callable = CallableChannel & { mayBegin: boolean };

/**
 * Counts the submit of a task against the limits of its channel, before its attempt begins: a channel at a limit is skipped, so that no
 * attempt fails for it. `full`: it is at one, or all of its credentials are. A channel without limits, and an attempt that has begun, count
 * nothing. The caller ends a slot that it does not tie to an attempt.
 */
export async function takeSlot(
  deps: AttemptDeps,
  { taskId, channelId }: AttemptInput,
  callable: Callable | null,
  failed: ReadonlySet<string>,
): Promise<{ callable: Callable | null; slot: ChannelSlot | null } | 'full'> {
  if (callable?.mayBegin !== true || !callable.row.isLimited) return { callable, slot: null };
  const task = await findTaskForAttempt(deps.db, taskId, channelId);
  if (!task || task.begun) return { callable, slot: null };
  const callId = newId('att');
  const { modelId, projectId } = task;
  const row = await deps.channels.claimTripped(callable.row, {
    modelId,
    projectId,
    without: new Set([...failed, ...unreadableCredentials(deps, callable.row)]),
    counted: { callId, tokens: 0 },
  });
  const credential = row && usableCredential(deps, row);
  if (!row || credential === null) return 'full';
  return { callable: { ...callable, row, credential }, slot: { callId, isTied: false } };
}
