import { z } from 'zod';
import { runJob } from '../../../commands/jobs/run-job.ts';
import { jobNames } from '../../../domain/job.ts';
import { command, group } from '../define-command.ts';
import { everything } from '../operator-deps.ts';
import { facts } from '../plain-text.ts';

/** `tollgate jobs …`: runs a scheduled job by hand. */
export const jobs = group('the scheduled jobs', () => ({ run }));

const run = command({
  summary: 'run a job now, in this process, unless it is already running',
  input: { name: z.enum(jobNames).describe(jobNames.join(', ')) },
  needs: everything,
  async run(deps, { name }, actor) {
    const result = await runJob(deps, { name, trigger: 'operator', actor });
    if (!result.ran) {
      return {
        document: { name, ran: false, reason: 'already_running', run_id: result.runId },
        text: `${name} is already running (${result.runId}). Nothing was done.`,
      };
    }
    const { runId, state, summary } = result;
    return {
      document: { run_id: runId, name, ran: true, state, summary },
      text: `${name} ${state} (${runId}).\n${facts(summary)}`,
      refused: state === 'failed',
    };
  },
});
