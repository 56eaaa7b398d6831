import { findPendingDelivery } from '../../../db/callbacks/deliveries.ts';
import { findTaskRouting, type TaskRouting } from '../../../db/tasks/attempts.ts';
import type { Deps } from '../../../deps.ts';
import { ATTEMPTS_MAX, drawOrder, soonIfUnreachable, unavailableWhileBusy } from '../../../domain/channels/routing.ts';
import { deliveryLeaseSeconds } from '../../../domain/callbacks/callback-schedule.ts';
import { isTerminal } from '../../../domain/tasks/task.ts';
import { isCallable } from '../../channels/unseal-credential.ts';
import type { ChannelDraw, TaskPlan } from '../../../domain/tasks/workflow-contract.ts';

type PlanDeps = Pick<Deps, 'config' | 'db' | 'ledger' | 'channels' | 'sealer' | 'logger'> & { random: () => number };

export interface UpgradeDeps {
  /** Whether the second step of the upgrade was run. */
  isContracted(): Promise<boolean>;
}

/** How often a task may wait for a channel to become available, so that no task waits for its whole deadline in small steps. */
const channelWaitsMax = 5;

const nothing: ChannelDraw = { channels: [], waitMs: null, moreLater: false };

/** The workflow's first step: the stored verdict about credits, and the order in which to try the channels. */
export async function planTask(deps: PlanDeps & UpgradeDeps, taskId: string): Promise<TaskPlan> {
  const { config } = deps;
  const admission = await deps.ledger.reserveTask(taskId, true);
  const limits = {
    attemptsMax: ATTEMPTS_MAX,
    channelWaitsMax,
    ...deliveryLimits(config),
  };
  const ended = isTerminal(admission.status);
  const { routing } = admission;
  const draw = routing && admission.remainingMs > 0 ? drawFor(deps, routing, await deps.channels.list()) : nothing;
  const deliveryId = ended && admission.admitted ? await findPendingDelivery(deps.db, taskId) : null;
  const { admitted, remainingMs } = admission;
  const waitsForBusyChannels = await deps.isContracted();
  return { admitted, remainingMs, ended, deliveryId, draw, limits, waitsForBusyChannels };
}

/** Each try may need several turns in which another process holds the lease. */
export const deliveryLimits = ({ attempts, callbacks }: Deps['config']) => ({
  deliveryTurnsMax: (callbacks.retryScheduleSeconds.length + 1) * 8,
  deliveryTryMs: deliveryLeaseSeconds(callbacks) * 1000,
  heartbeatTimeoutMs: attempts.heartbeatTimeoutSeconds * 1000,
});

/** Draws the channels for a task again, after waiting or after failed attempts. */
export async function drawChannels(deps: PlanDeps, taskId: string): Promise<ChannelDraw> {
  const routing = await findTaskRouting(deps.db, taskId);
  return routing ? drawFor(deps, routing, await deps.channels.list()) : nothing;
}

/**
 * Draws the channels for a task whose channels were all tried or unavailable. A channel that was too busy for the task, or that it could not
 * reach, bought nothing: it is drawn again from the time on that its attempt names, and does not count towards the limit of attempts. After
 * a failure on three channels none is drawn. A 503 without a promise is such a failure, because the provider may have a lasting trouble.
 */
export async function drawAgain(deps: PlanDeps, taskId: string): Promise<ChannelDraw> {
  const routing = await findTaskRouting(deps.db, taskId);
  if (!routing) return nothing;
  const counted = routing.attempted.filter((attempt) => attempt.retryAtMs === null);
  // In the order of the attempts, so that the latest of a channel decides.
  const retryAtMs = new Map(
    routing.attempted.flatMap(({ channelId, retryAtMs: at }) => (at === null ? [] : [[channelId, at] as const])),
  );
  const { channels, nowMs } = await deps.channels.list();
  // A channel without a usable credential is skipped at each attempt, so the task must not wait for it.
  const usable = channels.filter((channel) => isCallable(deps, channel));
  const listed = { channels: unavailableWhileBusy(soonIfUnreachable(usable, nowMs), retryAtMs), nowMs };
  const failed = routing.attempted.filter(({ outcome, retryPromised }) => outcome === 'transient' && !retryPromised);
  const reached = failed.filter(({ errorClass }) => errorClass !== 'connect');
  if (new Set(reached.map(({ channelId }) => channelId)).size >= ATTEMPTS_MAX) return { ...nothing, hasFailed: true };
  const draw = drawFor(deps, { ...routing, attempted: counted }, listed);
  return { ...draw, hasFailed: failed.length > 0 };
}

/**
 * Draws the channels for a task. Those with an attempt come first and in their order, because their rows hold the outcomes. The
 * available channels that the task has not tried follow, up to the limit of attempts.
 */
function drawFor(
  deps: PlanDeps,
  { modelId, groups, families, attempted }: TaskRouting,
  { channels, nowMs }: Awaited<ReturnType<Deps['channels']['list']>>,
): ChannelDraw {
  const attemptedIds = new Set(attempted.map(({ channelId }) => channelId));
  const { order, availableAtMs } = drawOrder(channels, { modelId, groups, families, attemptedIds, nowMs }, deps.random);
  const unfinished = attempted
    .filter(({ outcome }) => outcome !== 'transient')
    .map(({ channelId, name }) => ({ id: channelId, name }));
  const attemptsLeft = Math.max(0, ATTEMPTS_MAX - attempted.length);
  const fresh = order.slice(0, attemptsLeft).map(({ id, name }) => ({ id, name }));
  return {
    channels: [...unfinished, ...fresh],
    waitMs: availableAtMs === null || attemptsLeft === 0 ? null : Math.max(0, Math.ceil(availableAtMs - nowMs)),
    moreLater: availableAtMs !== null && attemptsLeft > fresh.length,
  };
}
