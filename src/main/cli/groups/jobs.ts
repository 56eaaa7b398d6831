import type { Command } from 'commander';
import { z } from 'zod';
import type { JobDeps } from '../../../commands/jobs/job-table.ts';
import { runJob } from '../../../commands/jobs/run-job.ts';
import { recordAudit } from '../../../db/audit.ts';
import { jobNames } from '../../../domain/job.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { everything } from '../operator-deps.ts';
import { facts } from '../plain-text.ts';

/** `tollgate jobs …`: runs a scheduled job by hand. */
export function registerJobs(root: Command, invocation: Invocation): void {
  const group = root.command('jobs').description('the scheduled jobs');
  defineCommand(group, 'run', invocation, {
    summary: 'run a job now, in this process, unless it is already running',
    usage: (command) => command.argument('<name>', jobNames.join(', ')),
    input: RunInput,
    needs: everything,
    run,
  });
}

const RunInput = z.object({ name: z.enum(jobNames) });

async function run(deps: JobDeps, { name }: z.infer<typeof RunInput>, actor: string): Promise<Report> {
  const result = await runJob(deps, { name, trigger: 'operator' });
  if (!result.ran) {
    return {
      document: { name, ran: false, reason: 'already_running', run_id: result.runId },
      text: `${name} is already running (${result.runId}). Nothing was done.`,
    };
  }
  const { runId, state, summary } = result;
  await recordAudit(deps.db, { actor, action: 'jobs.run', subject: runId, detail: { name, state } });
  const counts = Object.fromEntries(
    Object.entries(summary).map(([word, count]) => [word, typeof count === 'string' ? count : JSON.stringify(count)]),
  );
  return {
    document: { run_id: runId, name, ran: true, state, summary },
    text: `${name} ${state} (${runId}).\n${facts(counts)}`,
    ...(state === 'failed' && { refused: true }),
  };
}
