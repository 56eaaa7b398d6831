import type { Command } from 'commander';
import { z } from 'zod';
import { addCredits, showCredits, type Credits } from '../../../commands/projects/add-credits.ts';
import { adjustCredits } from '../../../commands/projects/adjust-credits.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { count, shortText } from '../input.ts';
import { database, type DatabaseDeps } from '../operator-deps.ts';
import { clean, facts } from '../plain-text.ts';

/** `tollgate credits …`: what a project has. */
export function registerCredits(root: Command, invocation: Invocation): void {
  const group = root.command('credits').description('what a project has, and how it gets more');
  defineCommand(group, 'add', invocation, {
    summary: 'add credits, once per reference',
    usage: (command) =>
      command
        .requiredOption('--project <id>', 'whose account')
        .requiredOption('--amount <credits>', 'how many, a whole number')
        .requiredOption('--reference <text>', 'what they were paid with; the same again adds nothing'),
    input: AddInput,
    needs: database,
    run: add,
  });
  defineCommand(group, 'adjust', invocation, {
    summary: 'give back what a task or chat was charged, once per reason',
    usage: (command) =>
      command
        .requiredOption('--task <id>', 'the task, as task_…, or the chat, as req_…')
        .requiredOption('--reason <text>', 'why; the same again gives nothing')
        .option('--amount <credits>', 'only so many of them (all that are left)'),
    input: AdjustInput,
    needs: database,
    run: adjust,
  });
  defineCommand(group, 'show', invocation, {
    summary: 'show what a project has, and what of it is held',
    usage: (command) => command.requiredOption('--project <id>', 'whose account'),
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
    : `The reference ${clean(reference)} had been added before. Nothing was changed.`;
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
      : `They had been given back before for this reason. Nothing was changed.`;
  return { document: about, text: `${said}\n\n${facts(about)}` };
}

const toDocument = ({ projectId, balance, reserved }: Credits) => ({ project_id: projectId, balance, reserved });
