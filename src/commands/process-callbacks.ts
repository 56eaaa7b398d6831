import { adoptDelivery, claimOverdueDeliveries, forgetKick, type OverdueDelivery } from '../db/deliveries.ts';
import type { Deps } from '../deps.ts';
import { deliverCallback, type DeliverDeps } from './deliver-callback.ts';

const limit = 500;
const lanes = 16;
const signalTimeoutMs = 2_000;

/**
 * Looks after callbacks that are due and not sent: kicks the workflow that waits for them, and delivers those whose
 * workflow is gone. A Temporal that cannot be reached is no proof of a workflow that is gone.
 */
export async function processCallbacks(
  deps: DeliverDeps & Pick<Deps, 'workflows'>,
): Promise<{ overdue: number; kicked: number; delivered: number }> {
  const overdue = await claimOverdueDeliveries(deps.db, {
    lateSeconds: deps.config.CALLBACK_LATE_SECONDS,
    kickSeconds: deps.config.CALLBACK_KICK_SECONDS,
    limit,
  });
  const count = { overdue: overdue.length, kicked: 0, delivered: 0 };
  const queue = [...overdue];
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const did = await handle(deps, next);
      if (did !== 'nothing') count[did] += 1;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return count;
}

async function handle(
  deps: DeliverDeps & Pick<Deps, 'workflows'>,
  { deliveryId, workflowId, adopted }: OverdueDelivery,
): Promise<'kicked' | 'delivered' | 'nothing'> {
  if (!adopted) {
    const answer = await deps.workflows.retryCallback(workflowId, signalTimeoutMs);
    if (answer === 'signaled') return 'kicked';
    if (answer === 'unreachable') {
      await forgetKick(deps.db, deliveryId);
      return 'nothing';
    }
    await adoptDelivery(deps.db, deliveryId);
  }
  const report = await deliverCallback(deps, deliveryId);
  return report.over ? 'delivered' : 'nothing';
}
