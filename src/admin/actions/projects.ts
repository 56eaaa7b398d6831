import { traceContents } from '../../domain/projects/trace-content.ts';
import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { createProject } from '../../services/projects/create-project.ts';
import { rotateProjectSecret, showProjectSecret, type ProjectSecret } from '../../services/projects/project-secret.ts';
import { setProject } from '../../services/projects/set-project.ts';
import { setProjectEnabled } from '../../services/projects/set-project-enabled.ts';
import { demand } from '../../services/operator-error.ts';
import { recordAudit } from '../../db/operators/audit.ts';
import type { ProjectSettings as ProjectSettingsRow } from '../../db/projects/project-settings.ts';
import {
  findProject,
  listProjects,
  projectColumns,
  type ProjectRow,
  type ProjectStatus,
} from '../../db/projects/projects.ts';
import {
  CreatedProject,
  ProjectSchema,
  projectStatuses,
  ProjectSecretSchema,
  ProjectSettingsSchema,
  SwitchedProject,
} from '../schemas/projects.ts';
import { flag, group, option, action } from '../define-action.ts';
import { cleared, intFrom, mailAddresses, shortText, text, thresholds } from '../input.ts';
import { planName } from '../plan-name.ts';
import { listInput, listRequest } from '../list-input.ts';
import { factText, time } from '../plain-text.ts';
import { factsReport, jsonRow, listReport } from '../report.ts';
import { shownCredits } from '../shown-credits.ts';

/** `tollgate projects …`: projects, which own credits and keys. */
export const projectActions = group('projects, which own credits and keys', () => ({
  create,
  list,
  show,
  set,
  disable: setEnabled(false, 'reject all keys of a project; its running tasks finish and are charged'),
  enable: setEnabled(true, 'accept the keys of a project again'),
  secret: group('the secret that signs the callbacks of a project', () => ({ show: showSecret, rotate: rotateSecret })),
}));

const create = action({
  summary: 'create a project with an empty account and show its callback secret',
  input: { name: option('<name>', shortText).describe('display name') },
  example: { name: 'Northern lights' },
  route: { method: 'POST', path: '/projects', role: 'owner' },
  answer: CreatedProject,
  needs: 'secrets',
  async run(deps, { name }, actor) {
    const { projectId, webhookSecret } = await createProject(deps, { name, actor });
    return factsReport(`Created the project ${name}.`, { project_id: projectId, webhook_secret: webhookSecret });
  },
});

const list = action({
  summary: 'list projects with their credits',
  input: {
    status: option('<status>', z.enum(projectStatuses).optional()).describe('show only these projects'),
    plan: option('<name>', shortText.optional()).describe('show only projects that have this plan, or none'),
    q: option('<text>', shortText.optional()).describe('show only projects with this in their name or id, in any case'),
    ...listInput('projects', projectColumns, { rows: 1_000 }),
  },
  route: { method: 'GET', path: '/projects', role: 'viewer' },
  answer: listOf(ProjectSchema),
  needs: 'database',
  async run(deps, { status, plan, q, ...page }) {
    const shown = await shownCredits(deps);
    // The alerts and the note would make the lines too long for a terminal.
    const toLine = ({
      alertAt: _at,
      alertUrl: _url,
      alertMail: _mail,
      traceContent: _content,
      note: _note,
      metadata: _metadata,
      ...row
    }: ProjectRow) => ({
      ...jsonRow(row),
      balance: shown(row.balance),
      reserved: shown(row.reserved),
      overdraft: shown(row.overdraft),
      created_at: time(row.createdAt),
    });
    return listReport(await listProjects(deps.db, { status, plan, q }, listRequest(page)), toLine, {
      list: 'projects',
      nothing: 'There are no projects.',
      toDocument: jsonRow,
    });
  },
});

const id = shortText.describe('project id, such as prj_…');

const NOTE_MAX = 1_000;
const note = text().trim().min(1, 'must not be empty').max(NOTE_MAX, `must have at most ${NOTE_MAX} characters`);

const show = action({
  summary: 'show a project with its credits and its settings',
  input: { id },
  route: { method: 'GET', path: '/projects/:id', role: 'viewer', resource: 'project' },
  answer: ProjectSchema,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { id: projectId }) {
    const project = demand(await findProject(deps.db, projectId), `project ${projectId}`);
    const shown = await shownCredits(deps);
    const about = {
      metadata: Object.entries(project.metadata)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', '),
      balance: shown(project.balance),
      reserved: shown(project.reserved),
      overdraft: shown(project.overdraft),
      alert_at: project.alertAt?.join(',') ?? null,
      created_at: time(project.createdAt),
    };
    return { document: jsonRow(project), text: factText({ ...jsonRow(project), ...about }) };
  },
});

const set = action({
  summary: 'change settings of a project; `none` removes one',
  input: {
    id,
    name: option('<name>', shortText.exactOptional()).describe('display name'),
    note: option('<text>', cleared(note)).describe('what operators should know about it, or none'),
    plan: option('<name>', cleared(planName)).describe(
      'the plan whose prices its requests have from now on, or none for the prices of the catalog',
    ),
    overdraft: option('<credits>', cleared(intFrom(0))).describe(
      'let requests take the balance this many credits below zero, for customers who pay later; 0 or none for not at all',
    ),
    alertAt: option('<thresholds>', cleared(thresholds)).describe(
      'tell the project when its credits, those on hold included, fall to these: credits, or percents of its last top-up, as 20%,5000000; or none',
    ),
    alertUrl: option('<url>', cleared(text().max(2_048, 'must have at most 2,048 characters'))).describe(
      'where balance.low is posted, signed as callbacks are, or none',
    ),
    alertMail: option('<addresses>', cleared(mailAddresses)).describe(
      'who gets the mail about it, as a@example.com,b@example.com, or none (ALARM_SMTP_URL is the mail server)',
    ),
    traceContent: option('<how>', cleared(z.enum(traceContents))).describe(
      'let traces have what its chats say: redacted (without keys, addresses, card numbers and files), full (without files), or none',
    ),
  },
  example: { plan: 'partners', overdraft: 5_000_000, alert_at: ['20%', '5000000'] },
  route: { method: 'PATCH', path: '/projects/:id', role: 'operator', resource: 'project' },
  answer: ProjectSettingsSchema,
  refusals: ['not_found', 'action_refused', 'version_conflict'],
  needs: 'database',
  async run(deps, { id: projectId, overdraft, ...changes }, actor) {
    const settings = await setProject(deps, {
      projectId,
      changes: { ...changes, ...(overdraft !== undefined && { overdraft: overdraft ?? 0 }) },
      actor,
    });
    const shown = {
      overdraft: (await shownCredits(deps))(settings.overdraft),
      alert_at: settings.alertAt?.join(',') ?? 'never',
      alert_mail: settings.alertMail?.join(',') ?? null,
    };
    return factsReport(
      `Changed ${projectId}.`,
      { project_id: projectId, ...jsonRow(settings) },
      { shown, warnings: unheard(settings, deps.config.alarms.smtpUrl !== '') },
    );
  },
});

/** Warns about alerts that have no receiver. */
function unheard({ alertAt, alertUrl, alertMail }: ProjectSettingsRow, hasMailServer: boolean): string[] {
  const warnings: string[] = [];
  if (alertAt !== null && alertUrl === null && alertMail === null)
    warnings.push('Crossed thresholds are not reported until --alert-url or --alert-mail is set.');
  if (alertMail !== null && !hasMailServer) warnings.push('No mail is sent until ALARM_SMTP_URL is set.');
  return warnings;
}

const setEnabled = (enabled: boolean, summary: string) =>
  action({
    summary,
    input: { id },
    route: {
      method: 'POST',
      path: `/projects/:id/${enabled ? 'enable' : 'disable'}`,
      role: 'operator',
      resource: 'project',
    },
    answer: SwitchedProject,
    refusals: ['not_found', 'version_conflict'],
    needs: 'database',
    async run(deps, { id: requestedId }, actor) {
      const { projectId, changed } = await setProjectEnabled(deps, { projectId: requestedId, enabled, actor });
      const status: ProjectStatus = enabled ? 'active' : 'disabled';
      return {
        document: { project_id: projectId, status, changed },
        text: changed ? `${projectId} is now ${status}.` : `${projectId} is already ${status}. Nothing changed.`,
      };
    },
  });

const showSecret = action({
  summary: 'show the callback secret, and the previous one while both sign',
  input: { id },
  route: { method: 'GET', path: '/projects/:id/secret', role: 'owner', resource: 'callback_secret' },
  answer: ProjectSecretSchema,
  refusals: ['not_found', 'action_refused'],
  needs: 'secrets',
  async run(deps, { id: projectId }, actor) {
    const secret = await showProjectSecret(deps, projectId);
    // Showing a secret is recorded in the audit log, as a change is.
    await recordAudit(deps.db, {
      actor,
      action: 'projects.secret.show',
      subject: projectId,
      before: null,
      after: null,
    });
    return { document: jsonRow(secret), text: factsOf(secret) };
  },
});

const rotateSecret = action({
  summary: 'create a new callback secret; both secrets sign for 24 hours',
  input: {
    id,
    force: flag().describe('rotate again during that overlap, which ends the older secret immediately'),
  },
  route: { method: 'POST', path: '/projects/:id/secret/rotate', role: 'owner', resource: 'callback_secret' },
  answer: ProjectSecretSchema,
  refusals: ['not_found', 'action_refused', 'version_conflict'],
  needs: 'secrets',
  async run(deps, { id: projectId, force }, actor) {
    const secret = await rotateProjectSecret(deps, { projectId, force, actor });
    return {
      document: jsonRow(secret),
      text: `Created a new callback secret for ${projectId}.\n\n${factsOf(secret)}`,
    };
  },
});

const factsOf = (secret: ProjectSecret) => factText({ ...jsonRow(secret), previous_until: time(secret.previousUntil) });
