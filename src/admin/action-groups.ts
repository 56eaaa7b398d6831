import type { Action, ActionGroup } from './define-action.ts';

/** A group of actions, or one action, as the help of `tollgate` shows it before it is loaded. */
export interface ListedGroup {
  /** The description of the group, or the summary of the action. */
  summary: string;
  /** What an action takes, as its usage says. */
  takes?: string;
  load: () => Promise<Action | ActionGroup>;
}

/**
 * Everything that operators can do, in the order of the help. Each group is loaded by itself, because a command needs only its own and a terminal
 * waits for it.
 */
export const actionGroups: Readonly<Record<string, ListedGroup>> = {
  projects: {
    summary: 'projects, which own credits and keys',
    load: async () => (await import('./actions/projects.ts')).projects,
  },
  keys: {
    summary: 'API keys and their limits',
    load: async () => (await import('./actions/keys.ts')).keys,
  },
  credits: {
    summary: 'the account of a project',
    load: async () => (await import('./actions/credits.ts')).credits,
  },
  channels: {
    summary: 'the configured upstream providers',
    load: async () => (await import('./actions/channels.ts')).channels,
  },
  catalog: {
    summary: 'the models on offer, with their prices',
    load: async () => (await import('./actions/catalog.ts')).catalog,
  },
  plans: {
    summary: 'plans, by which projects have prices of their own',
    load: async () => (await import('./actions/plans.ts')).plans,
  },
  tasks: {
    summary: 'image and video tasks',
    load: async () => (await import('./actions/tasks.ts')).tasks,
  },
  chats: {
    summary: 'chats and why they ended as they did',
    load: async () => (await import('./actions/chats.ts')).chats,
  },
  requests: {
    summary: 'chats, pictures and videos in one list',
    load: async () => (await import('./actions/requests.ts')).requests,
  },
  deliveries: {
    summary: 'the callbacks of tasks',
    load: async () => (await import('./actions/deliveries.ts')).deliveries,
  },
  webhooks: {
    summary: 'callbacks for those who write a receiver',
    load: async () => (await import('./actions/webhooks.ts')).webhooks,
  },
  jobs: {
    summary: 'the scheduled jobs',
    load: async () => (await import('./actions/scheduled-jobs.ts')).scheduledJobs,
  },
  ledger: {
    summary: 'the ledger of all credits',
    load: async () => (await import('./actions/ledger.ts')).ledger,
  },
  restore: {
    summary: 'after a restore of the database',
    load: async () => (await import('./actions/restore.ts')).restore,
  },
  secrets: {
    summary: 'the encrypted credentials and callback secrets',
    load: async () => (await import('./actions/secrets.ts')).secrets,
  },
  usage: {
    summary: 'add up requests, credits, cost and tokens, newest day first',
    takes: '[options]',
    load: async () => (await import('./actions/usage.ts')).usage,
  },
  summary: {
    summary: 'show revenue and cost of a month, as last computed by the maintenance job',
    takes: '[options]',
    load: async () => (await import('./actions/summary.ts')).summary,
  },
  search: {
    summary: 'find anything by its id, by a part of its name, or by the first or last characters of a key',
    takes: '[options] <q>',
    load: async () => (await import('./actions/search.ts')).search,
  },
  overview: {
    summary: 'how the gateway does today, and what needs an operator',
    load: async () => (await import('./actions/overview.ts')).overview,
  },
  alarms: {
    summary: 'what needs an operator, and the silences of its webhook and mails',
    load: async () => (await import('./actions/alarms.ts')).alarms,
  },
  audit: {
    summary: 'the log of changes by operators',
    load: async () => (await import('./actions/audit.ts')).audit,
  },
  'admin-tokens': {
    summary: 'tokens for the admin API and the console',
    load: async () => (await import('./actions/admin-tokens.ts')).adminTokens,
  },
  operators: {
    summary: 'people who sign in to the console by OIDC',
    load: async () => (await import('./actions/operators.ts')).operators,
  },
  import: {
    summary: 'import projects, keys and channels of one-api, new-api or LiteLLM; again, what changed there since',
    takes: '[options] <program>',
    load: async () => (await import('./actions/imports.ts')).imports,
  },
  shadow: {
    summary: 'send the same requests to another gateway and to this one, and compare status, shape and price',
    takes: '[options]',
    load: async () => (await import('./actions/shadow.ts')).shadow,
  },
};
