import { adoptDelivery, claimOverdueDeliveries, forgetKick, type OverdueDelivery } from '../../db/deliveries.ts';
import type { Deps } from '../../deps.ts';
import { pause } from '../../platform/pause.ts';
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
 * batches; what is left waits for the next run. One that could not be looked after is `failed`, and keeps no other waiting.
 */
export async function processCallbacks(
  deps: DeliverDeps & Pick<Deps, 'workflows'>,
): Promise<{ overdue: number; kicked: number; delivered: number; failed: number }> {
  const count = { overdue: 0, kicked: 0, delivered: 0, failed: 0 };
  const inTurn = createPace(paceMs);
  /** Free for the next run, which is not this one: they must not keep the later ones waiting. */
  const inVain: string[] = [];
  let isAway = false;
  for (let batch = 0; batch < batchesMax; batch++) {
    const queue = await claimOverdueDeliveries(deps.db, {
      lateSeconds: deps.config.CALLBACK_LATE_SECONDS,
      kickSeconds: deps.config.CALLBACK_KICK_SECONDS,
      limit: batchMax,
      except: inVain,
      adoptedOnly: isAway,
    });
    const claimed = queue.length;
    count.overdue += claimed;
    const asked = { reached: 0, unreachable: 0 };
    const lane = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        await inTurn();
        const did = await handle(deps, next);
        if (did === 'failed' || did === 'unreachable') inVain.push(next.deliveryId);
        if (did === 'unreachable') asked.unreachable += 1;
        else if (!next.adopted) asked.reached += 1;
        if (did === 'kicked' || did === 'delivered' || did === 'failed') count[did] += 1;
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    if (claimed < batchMax) break;
    // One may be odd; where nobody could be reached the next ones would only wait in vain.
    isAway ||= asked.unreachable > 0 && asked.reached === 0;
  }
  return count;
}

type Handled = 'kicked' | 'delivered' | 'unreachable' | 'failed' | 'nothing';

/** Never rejects: what goes wrong with one is no other's trouble. */
async function handle(deps: DeliverDeps & Pick<Deps, 'workflows'>, overdue: OverdueDelivery): Promise<Handled> {
  const { deliveryId } = overdue;
  try {
    const did = await kickOrDeliver(deps, overdue);
    if (did === 'unreachable') await forgetKick(deps.db, deliveryId);
    return did;
  } catch (error) {
    deps.logger.error(
      { err: error, delivery_id: deliveryId, alarm: true },
      'an overdue callback could not be looked after',
    );
    // Else it is kicked again after `CALLBACK_KICK_SECONDS`.
    await forgetKick(deps.db, deliveryId).catch(() => undefined);
    return 'failed';
  }
}

async function kickOrDeliver(
  deps: DeliverDeps & Pick<Deps, 'workflows'>,
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
