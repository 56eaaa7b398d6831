import { adoptDelivery, claimOverdueDeliveries, forgetKick, type OverdueDelivery } from '../db/deliveries.ts';
import type { Deps } from '../deps.ts';
import { pause } from '../platform/pause.ts';
import { deliverCallback, type DeliverDeps } from './deliver-callback.ts';

/** At most so many are claimed at once: who dies in the middle keeps no more from being kicked for a while. */
const batchMax = 50;
const batchesMax = 10;
const lanes = 16;
/** After hours without anybody who looked, the receivers are not run over: 50 a second. */
const paceMs = 20;
const signalTimeoutMs = 2_000;

/**
 * Looks after callbacks that are due and not sent: kicks the workflow that waits for them, and delivers those whose
 * workflow is gone. A Temporal that cannot be reached is no proof of a workflow that is gone. At most 50 a second, in
 * batches; what is left waits for the next run.
 */
export async function processCallbacks(
  deps: DeliverDeps & Pick<Deps, 'workflows'>,
): Promise<{ overdue: number; kicked: number; delivered: number }> {
  const count = { overdue: 0, kicked: 0, delivered: 0 };
  const inTurn = createPace(paceMs);
  for (let batch = 0; batch < batchesMax; batch++) {
    const queue = await claimOverdueDeliveries(deps.db, {
      lateSeconds: deps.config.CALLBACK_LATE_SECONDS,
      kickSeconds: deps.config.CALLBACK_KICK_SECONDS,
      limit: batchMax,
    });
    const claimed = queue.length;
    count.overdue += claimed;
    let unreachable = false;
    const lane = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        await inTurn();
        const did = await handle(deps, next);
        if (did === 'unreachable') unreachable = true;
        else if (did !== 'nothing') count[did] += 1;
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    // Those would be claimed again at once, and again be in vain.
    if (claimed < batchMax || unreachable) break;
  }
  return count;
}

async function handle(
  deps: DeliverDeps & Pick<Deps, 'workflows'>,
  { deliveryId, workflowId, adopted }: OverdueDelivery,
): Promise<'kicked' | 'delivered' | 'unreachable' | 'nothing'> {
  if (!adopted) {
    const answer = await deps.workflows.retryCallback(workflowId, signalTimeoutMs);
    if (answer === 'signaled') return 'kicked';
    if (answer === 'unreachable') {
      await forgetKick(deps.db, deliveryId);
      return 'unreachable';
    }
    await adoptDelivery(deps.db, deliveryId);
  }
  const report = await deliverCallback(deps, deliveryId);
  return report.over ? 'delivered' : 'nothing';
}

/** Each call resolves `everyMs` after the one before it, or at once when that is long ago. */
function createPace(everyMs: number): () => Promise<void> {
  let next = 0;
  return () => {
    const now = performance.now();
    const at = Math.max(now, next);
    next = at + everyMs;
    return pause(at - now);
  };
}
