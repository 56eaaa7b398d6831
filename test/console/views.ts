import type { Role } from '../../src/domain/operators/role.ts';
import type { Scene } from './scene.ts';
import type { Stage } from './stage.ts';

/** A page, by the name of its picture. */
export interface PageView {
  name: string;
  path: (stage: Stage) => string;
}

/** A dialog of a page, opened by a button, or by an item of the menu that the button opens. */
export interface DialogView extends PageView {
  opener: string | RegExp;
  item?: string;
  /** The lowest role that is offered it. */
  role: Exclude<Role, 'viewer'>;
}

/** Every page of the console. */
export const pageViews: readonly PageView[] = [
  page('overview', '/overview'),
  page('playground', '/playground'),
  page('playground-chat', '/playground?model=gpt-5-mini'),
  page('tasks', '/tasks'),
  page('task', ({ tasks }) => `/tasks/${tasks.delivered}`),
  page('task-failed', ({ tasks }) => `/tasks/${tasks.unknown}`),
  page('requests', '/requests'),
  page('request', ({ chats }) => `/requests/${chats.refunded}`),
  page('request-charged', ({ chats }) => `/requests/${chats.charged}`),
  page('models', '/models'),
  page('model', '/models/aurora-image-1'),
  page('plans', '/plans'),
  page('plan', '/plans/resellers'),
  page('channels', '/channels'),
  page('channel', ({ channelId }) => `/channels/${channelId}`),
  page('projects', '/projects'),
  page('project', ({ studio }) => `/projects/${studio.projectId}`),
  page('project-usage', ({ studio }) => `/projects/${studio.projectId}?tab=usage`),
  page('project-ledger', ({ studio }) => `/projects/${studio.projectId}?tab=ledger`),
  page('project-callbacks', ({ studio }) => `/projects/${studio.projectId}?tab=callbacks`),
  page('key', key),
  page('deliveries', '/deliveries'),
  page('audit', '/audit'),
  page('jobs', '/jobs'),
  page('usage', '/usage'),
  page('summaries', '/summaries'),
  page('access', '/access'),
  page('not-found', '/no-such-page'),
];

const studio = ({ studio: { projectId } }: Stage): string => `/projects/${projectId}`;
const delivered = ({ tasks }: Stage): string => `/tasks/${tasks.delivered}`;
const website = { path: studio, opener: 'Actions for Website' };
const sandbox = { path: at('/channels'), opener: 'Actions for sandbox-a' };

/** Every dialog that a page offers without a further click. Those that follow an answer are walked with it. */
export const dialogViews: readonly DialogView[] = [
  { name: 'alarm-silence', path: at('/overview'), opener: /^Silence for …: sandbox-c-kling/, role: 'operator' },
  { name: 'alarm-unsilence', path: at('/overview'), opener: /^End the silence/, role: 'operator' },
  { name: 'playground-code', path: at('/playground'), opener: 'Copy as code', role: 'operator' },
  { name: 'task-cancel', path: runningTask, opener: 'Actions', item: 'Cancel and refund', role: 'operator' },
  { name: 'task-resolve', path: unknownTask, opener: 'Actions', item: 'Record the outcome', role: 'operator' },
  { name: 'task-redeliver', path: delivered, opener: 'Actions', item: 'Send the callback again', role: 'operator' },
  { name: 'task-adjust', path: delivered, opener: 'Actions', item: 'Give credits back', role: 'operator' },
  { name: 'catalog-apply', path: at('/models'), opener: 'Apply a catalog', role: 'operator' },
  { name: 'model-edit', path: at('/models/aurora-image-1'), opener: 'Edit', role: 'operator' },
  { name: 'plan-create', path: at('/plans'), opener: 'New plan', role: 'operator' },
  { name: 'plan-set', path: at('/plans/resellers'), opener: 'Change the rules', role: 'operator' },
  { name: 'plan-delete', path: at('/plans/resellers'), opener: 'Delete', role: 'operator' },
  { name: 'provider', path: at('/channels'), opener: 'Add provider', role: 'owner' },
  { name: 'channel-edit', ...sandbox, item: 'Edit', role: 'operator' },
  { name: 'channel-weight', ...sandbox, item: 'Priority and weight', role: 'operator' },
  { name: 'channel-verify', ...sandbox, item: 'Verify its models', role: 'operator' },
  { name: 'channel-disable', ...sandbox, item: 'Drain and disable', role: 'operator' },
  { name: 'channel-set', path: channel, opener: 'Edit', role: 'operator' },
  { name: 'channel-key-add', path: channel, opener: 'Add a key', role: 'owner' },
  { name: 'channel-key-limits', path: channel, opener: /^Limits of the key/, role: 'operator' },
  { name: 'channel-key-remove', path: channel, opener: /^Remove the key/, role: 'owner' },
  { name: 'project-create', path: at('/projects'), opener: 'New project', role: 'owner' },
  { name: 'credits-add', path: studio, opener: 'Add credits', role: 'operator' },
  { name: 'credits-deduct', path: studio, opener: 'Deduct credits', role: 'operator' },
  { name: 'project-plan', path: studio, opener: 'Change the plan', role: 'operator' },
  { name: 'project-overdraft', path: studio, opener: 'Overdraft and alerts', role: 'operator' },
  { name: 'project-traces', path: studio, opener: 'Content of traces', role: 'operator' },
  { name: 'project-name', path: studio, opener: 'Name and note', role: 'operator' },
  { name: 'project-disable', path: studio, opener: 'Disable', role: 'operator' },
  { name: 'key-create', path: studio, opener: 'New key', role: 'owner' },
  { name: 'key-set', ...website, item: 'Change its limits', role: 'operator' },
  { name: 'key-rotate', ...website, item: 'New secret', role: 'owner' },
  { name: 'key-revoke', ...website, item: 'Revoke', role: 'operator' },
  { name: 'key-page-set', path: key, opener: 'Change its limits', role: 'operator' },
  { name: 'key-page-rotate', path: key, opener: 'New secret', role: 'owner' },
  { name: 'key-page-revoke', path: key, opener: 'Revoke', role: 'operator' },
  { name: 'callback-secret-new', path: callbacks, opener: 'New callback secret', role: 'owner' },
  { name: 'delivery-redeliver', path: at('/deliveries'), opener: /^Send (again|now):/, role: 'operator' },
  { name: 'job-run', path: at('/jobs'), opener: 'Run now: check-api-channels', role: 'operator' },
  { name: 'ledger-verify', path: at('/jobs'), opener: 'Verify the ledger', role: 'operator' },
  { name: 'operator-add', path: at('/access'), opener: 'Add a person', role: 'owner' },
  { name: 'operator-remove', path: at('/access'), opener: 'Remove Torvald', role: 'owner' },
  { name: 'token-create', path: at('/access'), opener: 'New admin token', role: 'owner' },
  { name: 'token-revoke', path: at('/access'), opener: 'Revoke Weekly report', role: 'owner' },
];

/** Makes what the pages and dialogs are about beyond the stage. */
export async function stageViews({ admin, stage }: Scene): Promise<void> {
  await admin.change('POST', '/plans', { name: 'resellers', rules: [{ models: 'type:image', multiplier: 1.5 }] });
  const person = { issuer: 'https://id.example.com', subject: 'walk-4712', name: 'Torvald', role: 'viewer' };
  await admin.change('POST', '/operators', person);
  await admin.change('POST', '/admin-tokens', { name: 'Weekly report', role: 'viewer' });
  await admin.change('POST', '/alarms/silences', { name: 'unknown_outcome', for: '1h', reason: 'asked the provider' });
  await admin.change('PATCH', `/channels/${stage.channelId}`, { credential_add: 'sk-further-abcd' });
}

function at(path: string): () => string {
  return () => path;
}
function page(name: string, path: string | ((stage: Stage) => string)): PageView {
  return { name, path: typeof path === 'string' ? at(path) : path };
}
function runningTask({ tasks }: Stage): string {
  return `/tasks/${tasks.running}`;
}
function unknownTask({ tasks }: Stage): string {
  return `/tasks/${tasks.unknown}`;
}
function channel({ channelId }: Stage): string {
  return `/channels/${channelId}`;
}
function key({ studio: { keyId } }: Stage): string {
  return `/keys/${keyId}`;
}
function callbacks({ studio: { projectId } }: Stage): string {
  return `/projects/${projectId}?tab=callbacks`;
}
