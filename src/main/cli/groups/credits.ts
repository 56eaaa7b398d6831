import type { Command } from 'commander';
import { z } from 'zod';
import { addCredits, showCredits, type Credits } from '../../../commands/projects/add-credits.ts';
import { adjustCredits } from '../../../commands/projects/adjust-credits.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { count, shortText } from '../input.ts';
import { database, type DatabaseDeps } from '../operator-deps.ts';
import { clean, facts } from '../plain-text.ts';

/** `tollgate credits …`: the account of a project. */
export function registerCredits(root: Command, invocation: Invocation): void {
  const group = root.command('credits').description('the account of a project');
  defineCommand(group, 'add', invocation, {
    summary: 'add credits, once per reference',
    usage: (command) =>
      command
        .requiredOption('--project <id>', 'project that owns the account')
        .requiredOption('--amount <credits>', 'whole number of credits')
        .requiredOption('--reference <text>', 'payment reference; a second call with the same one adds nothing'),
    input: AddInput,
    needs: database,
    run: add,
  });
  defineCommand(group, 'adjust', invocation, {
    summary: 'give back credits that a task or chat was charged, once per reason',
    usage: (command) =>
      command
        .requiredOption('--task <id>', 'task id (task_…) or request id of a chat (req_…)')
        .requiredOption('--reason <text>', 'why; a second call with the same reason gives nothing back')
        .option('--amount <credits>', 'give back only this many (default: all that remain)'),
    input: AdjustInput,
    needs: database,
    run: adjust,
  });
  defineCommand(group, 'show', invocation, {
    summary: 'show the balance of a project, and how much of it is reserved',
    usage: (command) => command.requiredOption('--project <id>', 'project that owns the account'),
    input: z.object({ project: shortText }),
    needs: database,
    run: async (deps, { project }) => {
      const credits = await showCredits(deps, project);
      return { document: toDocument(credits), text: facts({ ...toDocument(credits) }) };
    },
  });
}

const AddInput = z.object({ project: shortText, amount: count(), reference: shortText });

async function add(deps: DatabaseDeps, input: z.infer<typeof AddInput>, actor: string): Promise<Report> {
  const { project, amount, reference } = input;
  const credits = await addCredits(deps, { projectId: project, amount, reference, actor });
  const said = credits.added
    ? `Added ${amount} credits to ${project}.`
    : `The reference ${clean(reference)} was already added. Nothing changed.`;
  return { document: toDocument(credits), text: `${said}\n\n${facts({ ...toDocument(credits) })}` };
}

const AdjustInput = z.object({ task: shortText, reason: shortText, amount: count().optional() });

async function adjust(deps: DatabaseDeps, input: z.infer<typeof AdjustInput>, actor: string): Promise<Report> {
  const { task, reason, amount = null } = input;
  const { projectId, given, charged, givenInAll, balance } = await adjustCredits(deps, {
    requestId: task,
    amount,
    reason,
    actor,
  });
  const about = { task_id: task, project_id: projectId, given, charged, given_in_all: givenInAll, balance };
  const said =
    given > 0
      ? `Gave ${given} credits back to ${projectId}.`
      : `Credits were already given back for this reason. Nothing changed.`;
  return { document: about, text: `${said}\n\n${facts(about)}` };
}

const toDocument = ({ projectId, balance, reserved }: Credits) => ({ project_id: projectId, balance, reserved });
