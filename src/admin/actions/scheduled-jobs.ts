import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { runScheduledJob, type ScheduledJobResult } from '../../services/scheduled-jobs/run-scheduled-job.ts';
import {
  listAllScheduledJobRuns,
  scheduledJobRunColumns,
  type ScheduledJobRun,
} from '../../db/scheduled-jobs/scheduled-job-runs.ts';
import { scheduledJobNames, type ScheduledJobName } from '../../domain/tasks/scheduled-job.ts';
import { RunResult, ListedRun as Run, RunningScheduledJob } from '../schemas/scheduled-jobs.ts';
import { group, option, action } from '../define-action.ts';
import { listInput, listRequest } from '../list-input.ts';
import { factText, time } from '../plain-text.ts';
import { jsonRow, listReport, type Report } from '../report.ts';

/** `tollgate jobs …`: the scheduled jobs and their runs. */
export const scheduledJobActions = group('the scheduled jobs', () => ({ list, run }));

const list = action({
  summary: 'list the runs of all jobs, newest first',
  input: {
    name: option('<name>', z.enum(scheduledJobNames).optional()).describe('show only this job'),
    ...listInput('jobs', scheduledJobRunColumns, { time: 'requested_at' }),
  },
  route: { method: 'GET', path: '/jobs', role: 'viewer' },
  answer: listOf(Run),
  needs: 'database',
  async run({ db }, { name, ...page }) {
    const toLine = ({ runId: run_id, name, trigger, state, summary, ...at }: ScheduledJobRun) => ({
      run_id,
      job: name,
      trigger,
      state,
      requested_at: time(at.requestedAt),
      ended_at: time(at.endedAt),
      summary,
    });
    return listReport(await listAllScheduledJobRuns(db, { name }, listRequest(page)), toLine, {
      list: 'jobs',
      nothing: 'No job has run yet.',
      toDocument: jsonRow,
    });
  },
});

const run = action({
  summary: 'run a job now, in this process, unless it is already running',
  input: { name: z.enum(scheduledJobNames).describe(scheduledJobNames.join(', ')) },
  route: { method: 'POST', path: '/jobs/:name/run', role: 'operator' },
  answer: RunResult,
  pendingAnswer: RunningScheduledJob,
  needs: 'worker',
  async run({ answerWithinSeconds, ...deps }, { name }, actor) {
    const running = runScheduledJob(deps, { name, trigger: 'operator', actor });
    if (answerWithinSeconds === Infinity) return resultOf(name, await running);
    const result = await Promise.race([running, sleep(answerWithinSeconds * 1_000, null, { ref: false })]);
    if (result) return resultOf(name, result);
    running.catch((error: unknown) =>
      deps.logger.error({ err: error, job: name }, 'a scheduled job that an operator ran failed'),
    );
    const [latest] = (await listAllScheduledJobRuns(deps.db, { name }, { limit: 1, after: null })).items;
    const runId = latest?.runId ?? null;
    return { document: { run_id: runId, name }, text: `${name} still runs (${runId ?? 'unknown'}).`, pending: true };
  },
});

function resultOf(name: ScheduledJobName, result: ScheduledJobResult): Report<z.input<typeof RunResult>> {
  if (!result.ran) {
    return {
      document: { name, ran: false, reason: 'already_running', run_id: result.runId },
      text: `${name} is already running (${result.runId}). Nothing was done.`,
    };
  }
  const { runId, state, summary } = result;
  return {
    document: { run_id: runId, name, ran: true, state, summary },
    text: `${name} ${state} (${runId}).\n${factText(summary)}`,
    refused: state === 'failed',
  };
}
