import type { Action, ActionGroup } from './define-action.ts';

/**
 * Everything that operators can do, in the order of the help. Each group is loaded by itself, because a command needs only its own and a terminal
 * waits for it.
 */
export const actionGroups: Readonly<Record<string, () => Promise<Action | ActionGroup>>> = {
  projects: async () => (await import('./actions/projects.ts')).projectActions,
  keys: async () => (await import('./actions/keys.ts')).keyActions,
  credits: async () => (await import('./actions/credits.ts')).creditActions,
  channels: async () => (await import('./actions/channels.ts')).channelActions,
  catalog: async () => (await import('./actions/catalog.ts')).catalogActions,
  plans: async () => (await import('./actions/plans.ts')).planActions,
  tasks: async () => (await import('./actions/tasks.ts')).taskActions,
  chats: async () => (await import('./actions/chats.ts')).chatActions,
  requests: async () => (await import('./actions/requests.ts')).requestActions,
  deliveries: async () => (await import('./actions/deliveries.ts')).deliveryActions,
  webhooks: async () => (await import('./actions/webhooks.ts')).webhookActions,
  jobs: async () => (await import('./actions/scheduled-jobs.ts')).scheduledJobActions,
  ledger: async () => (await import('./actions/ledger.ts')).ledgerActions,
  restore: async () => (await import('./actions/restore.ts')).restoreActions,
  secrets: async () => (await import('./actions/secrets.ts')).secretActions,
  usage: async () => (await import('./actions/usage.ts')).usageAction,
  summary: async () => (await import('./actions/summary.ts')).summaryAction,
  search: async () => (await import('./actions/search.ts')).searchAction,
  overview: async () => (await import('./actions/overview.ts')).overviewActions,
  alarms: async () => (await import('./actions/alarms.ts')).alarmActions,
  audit: async () => (await import('./actions/audit.ts')).auditActions,
  'admin-tokens': async () => (await import('./actions/admin-tokens.ts')).adminTokenActions,
  operators: async () => (await import('./actions/operators.ts')).operatorActions,
  import: async () => (await import('./actions/imports.ts')).importAction,
  shadow: async () => (await import('./actions/shadow.ts')).shadowAction,
};
