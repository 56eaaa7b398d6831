import type { Action, ActionGroup } from './define-action.ts';

/**
 * Everything that operators can do, in the order of the help. Each group is loaded by itself, because a command needs only its own and a terminal
 * waits for it.
 */
export const actionGroups: Readonly<Record<string, () => Promise<Action | ActionGroup>>> = {
  projects: async () => (await import('./actions/projects.ts')).projects,
  keys: async () => (await import('./actions/keys.ts')).keys,
  credits: async () => (await import('./actions/credits.ts')).credits,
  channels: async () => (await import('./actions/channels.ts')).channels,
  catalog: async () => (await import('./actions/catalog.ts')).catalog,
  plans: async () => (await import('./actions/plans.ts')).plans,
  tasks: async () => (await import('./actions/tasks.ts')).tasks,
  chats: async () => (await import('./actions/chats.ts')).chats,
  requests: async () => (await import('./actions/requests.ts')).requests,
  deliveries: async () => (await import('./actions/deliveries.ts')).deliveries,
  webhooks: async () => (await import('./actions/webhooks.ts')).webhooks,
  jobs: async () => (await import('./actions/scheduled-jobs.ts')).scheduledJobs,
  ledger: async () => (await import('./actions/ledger.ts')).ledger,
  restore: async () => (await import('./actions/restore.ts')).restore,
  secrets: async () => (await import('./actions/secrets.ts')).secrets,
  usage: async () => (await import('./actions/usage.ts')).usage,
  summary: async () => (await import('./actions/summary.ts')).summary,
  search: async () => (await import('./actions/search.ts')).search,
  overview: async () => (await import('./actions/overview.ts')).overview,
  alarms: async () => (await import('./actions/alarms.ts')).alarms,
  audit: async () => (await import('./actions/audit.ts')).audit,
  'admin-tokens': async () => (await import('./actions/admin-tokens.ts')).adminTokens,
  operators: async () => (await import('./actions/operators.ts')).operators,
  import: async () => (await import('./actions/imports.ts')).imports,
  shadow: async () => (await import('./actions/shadow.ts')).shadow,
};
