import {
  adoptDelivery,
  claimOverdueDeliveries,
  forgetWakeUp,
  type OverdueDelivery,
} from '../../db/callbacks/deliveries.ts';
import type { Deps } from '../../deps.ts';
import { inLanes } from '../../platform/in-lanes.ts';
import { pause } from '../../platform/pause.ts';
import { deliverCallback, type DeliverDeps } from './deliver-callback.ts';
import { alarmOf } from '../../domain/operators/alarm.ts';

/** The size of one claim. A process that dies delays the wake-up of no more callbacks than these. */
const batchMax = 50;
const batchesMax = 10;
const lanes = 16;
/** 50 a second, so that a sweep after hours without one does not overload the receivers. */
const paceMs = 20;
const signalTimeoutMs = 2_000;

type SweepDeps = DeliverDeps & Pick<Deps, 'workflows' | 'tracer'>;

/**
 * Handles overdue callbacks: signals the workflow that waits to send the callback, or delivers the callback if its workflow no
 * longer exists. While Temporal cannot be reached, every workflow counts as existing. Runs in batches, at most 50 callbacks a
 * second, and leaves the rest for the next run. A callback that could not be handled counts as `failed` and delays no other.
 */
export async function processCallbacks(
  deps: SweepDeps,
): Promise<{ overdue: number; kicked: number; delivered: number; failed: number }> {
  const count = { overdue: 0, kicked: 0, delivered: 0, failed: 0 };
  const inTurn = createPace(paceMs);
  /** Callbacks that the next run may claim again, but not this one: they must not delay the others. */
  const postponed: string[] = [];
  let isAway = false;
  for (let batch = 0; batch < batchesMax; batch++) {
    const claimed = await claimOverdueDeliveries(deps.db, {
      lateSeconds: deps.config.callbacks.lateSeconds,
      wakeUpSeconds: deps.config.callbacks.wakeUpIntervalSeconds,
      limit: batchMax,
      except: postponed,
      adoptedOnly: isAway,
    });
    count.overdue += claimed.length;
    const signals = { reached: 0, unreachable: 0 };
    await inLanes(claimed, lanes, async (next) => {
      await inTurn();
      const handled = await deps.tracer.resume(next.traceParent, 'deliver the late callback', () => handle(deps, next));
      if (handled === 'failed' || handled === 'unreachable') postponed.push(next.deliveryId);
      if (handled === 'unreachable') signals.unreachable += 1;
      else if (!next.adopted) signals.reached += 1;
      if (handled === 'kicked' || handled === 'delivered' || handled === 'failed') count[handled] += 1;
    });
    if (claimed.length < batchMax) break;
    // If Temporal answered for none of this batch, it would not answer for the next one either.
    isAway ||= signals.unreachable > 0 && signals.reached === 0;
  }
  return count;
}

type Handled = 'kicked' | 'delivered' | 'unreachable' | 'failed' | 'nothing';

/** Never rejects, so that one failure stops no other callback. */
async function handle(deps: SweepDeps, overdue: OverdueDelivery): Promise<Handled> {
  const { deliveryId } = overdue;
  try {
    const handled = await wakeUpOrDeliver(deps, overdue);
    if (handled === 'unreachable') await forgetWakeUp(deps.db, deliveryId);
    return handled;
  } catch (error) {
    deps.logger.error(
      { err: error, delivery_id: deliveryId, ...alarmOf('callback_stuck') },
      'an overdue callback could not be handled',
    );
    // Without this the next wake-up comes only after five minutes.
    await forgetWakeUp(deps.db, deliveryId).catch(() => undefined);
    return 'failed';
  }
}

async function wakeUpOrDeliver(
  deps: SweepDeps,
  { deliveryId, workflowId, adopted }: OverdueDelivery,
): Promise<Handled> {
  if (!adopted) {
    const answer = await deps.workflows.retryCallback(workflowId, signalTimeoutMs);
    if (answer === 'signaled') return 'kicked';
    if (answer === 'unreachable') return 'unreachable';
    await adoptDelivery(deps.db, deliveryId);
  }
  const { delivered } = await deliverCallback(deps, deliveryId);
  return delivered ? 'delivered' : 'nothing';
}

/** Each call resolves at least `everyMs` after the previous one. */
function createPace(everyMs: number): () => Promise<void> {
  let next = 0;
  return () => {
    const now = performance.now();
    const at = Math.max(now, next);
    next = at + everyMs;
    return pause(at - now);
  };
}
