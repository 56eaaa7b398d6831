import type { JsonObject } from '../../domain/json.ts';
import type { UpstreamOutput } from '../../domain/channels/upstream.ts';
import type { TaskOutput } from '../../domain/tasks/task-view.ts';
import type { Database } from '../database.ts';
import type { CopiedFile } from '../ledger/ledger.ts';
import { recordAudit } from '../operators/audit.ts';

export interface Adoption {
  verdict: 'adopted' | 'adopted_before' | 'unknown' | 'not_ended' | 'not_held' | 'erased' | 'no_credits';
  projectId: string | null;
  output: TaskOutput[] | null;
  /** Credits that this call took. */
  charged: number;
  /** Credits that were taken for the result, by this call or an earlier one. */
  chargedInAll: number | null;
  balance: number | null;
}

/** The reason of the ledger entry of a charged adoption: one entry per task. */
const adoptionReason = 'adopted result';

interface WantedAdoption {
  taskId: string;
  file: CopiedFile | null;
  keptSeconds: number;
  charge: boolean;
  actor: string;
}

/** Makes a drafted file the output of an ended task, and charges it if asked, each once (`adopt_result.sql`). */
export const adoptFile = (
  database: Database,
  { taskId, file, keptSeconds, charge, actor }: WantedAdoption,
): Promise<Adoption> =>
  database.transaction('begin', async (_query, inside) => {
    const columns = file && {
      id: file.id,
      mime_type: file.mimeType,
      bytes: file.bytes,
      sha256: file.sha256,
      width: file.width,
      height: file.height,
      duration: file.duration,
    };
    const args = [taskId, columns && JSON.stringify(columns), keptSeconds, charge, adoptionReason];
    const [adoption] = await inside.call<Adoption>('adopt_result', args);
    if (!adoption) throw new Error('adopt_result has no verdict');
    const { verdict, charged, output, projectId } = adoption;
    if (verdict === 'adopted' || charged > 0) {
      const inAll = adoption.chargedInAll ?? 0;
      await recordAudit(inside, {
        actor,
        action: 'tasks.adopt',
        subject: taskId,
        before: { files: verdict === 'adopted' ? [] : filesOf(output), charged: inAll - charged },
        after: { files: filesOf(output), charged: inAll },
        detail: { projectId },
      });
    }
    return adoption;
  });

const filesOf = (output: Adoption['output']): string[] => (output ?? []).map(({ file_id: id }) => id);

/** What a provider answered as the result of a job that no task got. */
export interface KeptResult {
  attemptId: string;
  n: number;
  channelId: string;
  /** Sealed, or plain while it is being copied. */
  result: string | UpstreamOutput[];
}

/** The results of a task's attempts that did not become its output, the latest first. */
export async function listKeptResults(database: Database, taskId: string): Promise<KeptResult[]> {
  return database.query<KeptResult>(
    'operator-kept-results',
    `select id as attempt_id, n, channel_id, result from attempt
     where request_id = $1 and result is not null and outcome is distinct from 'ok' order by n desc limit 100`,
    [taskId],
  );
}

/** The task's latest job that a provider accepted; null if there is none. */
export async function lastProviderJobOf(
  database: Database,
  taskId: string,
): Promise<{ attemptId: string; channelId: string; operation: JsonObject } | null> {
  return database.first(
    'operator-last-job',
    'select id as attempt_id, channel_id, operation from attempt where request_id = $1 and operation is not null order by n desc limit 1',
    [taskId],
  );
}

/** The task's latest call and its channel; null if no channel was called. */
export const lastCallOf = (
  database: Database,
  taskId: string,
): Promise<{ attemptId: string; channelId: string } | null> =>
  database.first(
    'operator-last-channel',
    'select id as attempt_id, channel_id from attempt where request_id = $1 order by (operation is not null) desc, n desc limit 1',
    [taskId],
  );
