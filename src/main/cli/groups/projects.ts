import type { Command } from 'commander';
import { z } from 'zod';
import { createProject } from '../../../commands/create-project.ts';
import { listProjects } from '../../../db/operators.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { limit, shortText } from '../input.ts';
import { database, databaseAndSecrets, type DatabaseDeps, type SecretsDeps } from '../operator-deps.ts';
import { clean, facts, limited, table, time } from '../plain-text.ts';

/** `tollgate projects …`: who owns credits and keys. */
export function registerProjects(root: Command, invocation: Invocation): void {
  const group = root.command('projects').description('who owns credits and keys');
  defineCommand(group, 'create', invocation, {
    summary: 'make a project with an empty account; shows its callback secret',
    usage: (command) => command.requiredOption('--name <name>', 'what people call it'),
    input: z.object({ name: shortText }),
    needs: databaseAndSecrets,
    run: create,
  });
  defineCommand(group, 'list', invocation, {
    summary: 'list projects with their credits',
    usage: (command) => command.option('--limit <rows>', 'at most so many (1000)'),
    input: z.object({ limit: limit(1_000) }),
    needs: database,
    run: list,
  });
}

async function create(deps: SecretsDeps, { name }: { name: string }, actor: string): Promise<Report> {
  const { projectId, webhookSecret } = await createProject(deps, { name, actor });
  return {
    document: { project_id: projectId, webhook_secret: webhookSecret },
    text: `Made the project ${clean(name)}.\n\n${facts({ project_id: projectId, webhook_secret: webhookSecret })}`,
  };
}

async function list({ db }: DatabaseDeps, input: { limit: number }): Promise<Report> {
  const rows = await listProjects(db, input.limit);
  const text = table(
    rows.map((row) => ({ ...row, created_at: time(row.created_at) })),
    'There are no projects.',
  );
  return { document: { data: rows }, text: limited(text, rows, input.limit) };
}
