import { GatewayError } from '../../domain/errors.ts';
import type { Admission } from '../../db/ledger.ts';
import { oldestUnstartedSeconds } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import type { WorkflowTask } from '../../platform/temporal/workflow-client.ts';
import { createCached } from '../../caches/cached.ts';

export interface AdmissionDesk {
  /** The stored, final verdict about a task's credits. */
  admit(task: WorkflowTask): Promise<Admission>;
  /** Throws 503 `overloaded` while the oldest admitted task has waited too long for its workflow. */
  assertNotOverloaded(): Promise<void>;
}

/** How long a wait in Temporal may take before the desk asks for less of them. */
const slowWaitMs = 250;
/** After a slow or unanswered wait the desk goes straight to the database for this long. */
const restAfterSlowMs = 2_000;

/**
 * Where a create waits for its verdict. A few at a time let the workflow's own first step decide; whoever finds no free
 * place, or gets no answer in time because Temporal or the workers are busy or away, asks the database itself. The verdict
 * is stored, so both ways read the same one (rules "Media tasks", point 2).
 */
export function createAdmissionDesk(deps: Pick<Deps, 'config' | 'db' | 'ledger' | 'workflows'>): AdmissionDesk {
  const { config, db, ledger, workflows } = deps;
  let waiting = 0;
  let directUntil = 0;
  const backlog = createCached(1_000, () => oldestUnstartedSeconds(db));

  const askWorkflow = async (task: WorkflowTask): Promise<void> => {
    const before = performance.now();
    waiting += 1;
    try {
      const answered = await workflows.startAndReserve(task, config.CREATE_WAIT_MS);
      if (!answered || performance.now() - before > slowWaitMs) directUntil = performance.now() + restAfterSlowMs;
    } finally {
      waiting -= 1;
    }
  };

  return {
    async admit(task) {
      const mayWait =
        waiting < config.CREATE_WAITERS_MAX && config.CREATE_WAIT_MS > 0 && performance.now() >= directUntil;
      if (mayWait) await askWorkflow(task);
      // After the workflow's own step this reads its verdict; else it decides.
      return ledger.reserveTask(task.taskId, false);
    },

    async assertNotOverloaded() {
      if ((await backlog.get()) > config.CREATE_BACKLOG_SECONDS_MAX) {
        throw new GatewayError('overloaded', { retryAfterSeconds: 5 });
      }
    },
  };
}
