import type { Command } from 'commander';
import { z } from 'zod';
import { createProject } from '../../../commands/projects/create-project.ts';
import {
  rotateProjectSecret,
  showProjectSecret,
  type ProjectSecret,
} from '../../../commands/projects/project-secret.ts';
import { setProjectEnabled } from '../../../commands/projects/set-project-enabled.ts';
import { recordAudit } from '../../../db/audit.ts';
import { listProjects } from '../../../db/projects.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { limit, shortText } from '../input.ts';
import { jsonRow } from '../json-row.ts';
import { database, databaseAndSecrets, type DatabaseDeps, type SecretsDeps } from '../operator-deps.ts';
import { clean, facts, limited, table, time } from '../plain-text.ts';

/** `tollgate projects …`: projects, which own credits and keys. */
export function registerProjects(root: Command, invocation: Invocation): void {
  const group = root.command('projects').description('projects, which own credits and keys');
  defineCommand(group, 'create', invocation, {
    summary: 'create a project with an empty account and show its callback secret',
    usage: (command) => command.requiredOption('--name <name>', 'display name'),
    input: z.object({ name: shortText }),
    needs: databaseAndSecrets,
    run: create,
  });
  defineCommand(group, 'list', invocation, {
    summary: 'list projects with their credits',
    usage: (command) => command.option('--limit <rows>', 'show at most this many rows (default: 1000)'),
    input: z.object({ limit: limit(1_000) }),
    needs: database,
    run: list,
  });
  for (const enabled of [false, true]) {
    defineCommand(group, enabled ? 'enable' : 'disable', invocation, {
      summary: enabled
        ? 'accept the keys of a project again'
        : 'reject all keys of a project; its running tasks finish and are charged',
      usage: withId,
      input: IdInput,
      needs: database,
      run: (deps, { id }, actor) => setEnabled(deps, { projectId: id, enabled, actor }),
    });
  }
  const secret = group.command('secret').description('the secret that signs the callbacks of a project');
  defineCommand(secret, 'show', invocation, {
    summary: 'show the callback secret, and the previous one while both sign',
    usage: withId,
    input: IdInput,
    needs: databaseAndSecrets,
    run: showSecret,
  });
  defineCommand(secret, 'rotate', invocation, {
    summary: 'create a new callback secret; both secrets sign for 24 hours',
    usage: (command) =>
      withId(command).option('--force', 'rotate again during that overlap, which ends the older secret at once'),
    input: IdInput.extend({ force: z.boolean().default(false) }),
    needs: databaseAndSecrets,
    run: async (deps, { id, force }, actor) => {
      const rotated = await rotateProjectSecret(deps, { projectId: id, force, actor });
      return secretReport(rotated, `Created a new callback secret for ${id}.\n\n`);
    },
  });
}

const IdInput = z.object({ id: shortText });
const withId = (command: Command) => command.argument('<id>', 'project id, such as prj_…');

async function setEnabled(
  deps: DatabaseDeps,
  asked: { projectId: string; enabled: boolean; actor: string },
): Promise<Report> {
  const { projectId, changed } = await setProjectEnabled(deps, asked);
  const status = asked.enabled ? 'active' : 'disabled';
  return {
    document: { project_id: projectId, status, changed },
    text: changed ? `${projectId} is now ${status}.` : `${projectId} is already ${status}. Nothing changed.`,
  };
}

/** Showing a secret is recorded in the audit log, as a change is. */
async function showSecret(deps: SecretsDeps, { id }: { id: string }, actor: string): Promise<Report> {
  const shown = await showProjectSecret(deps, id);
  await recordAudit(deps.db, { actor, action: 'projects.secret.show', subject: id });
  return secretReport(shown);
}

function secretReport({ projectId, webhookSecret, previousSecret, previousUntil }: ProjectSecret, said = ''): Report {
  const about = { project_id: projectId, webhook_secret: webhookSecret, previous_secret: previousSecret };
  return {
    document: { ...about, previous_until: previousUntil },
    text: `${said}${facts({ ...about, previous_until: time(previousUntil) })}`,
  };
}

async function create(deps: SecretsDeps, { name }: { name: string }, actor: string): Promise<Report> {
  const { projectId, webhookSecret } = await createProject(deps, { name, actor });
  return {
    document: { project_id: projectId, webhook_secret: webhookSecret },
    text: `Created the project ${clean(name)}.\n\n${facts({ project_id: projectId, webhook_secret: webhookSecret })}`,
  };
}

async function list({ db }: DatabaseDeps, input: { limit: number }): Promise<Report> {
  const rows = await listProjects(db, input.limit);
  const text = table(
    rows.map(({ projectId, createdAt, ...row }) => ({ project_id: projectId, ...row, created_at: time(createdAt) })),
    'There are no projects.',
  );
  return { document: { data: rows.map(jsonRow) }, text: limited(text, rows, input.limit) };
}
