import type { Action, ActionGroup } from './define-action.ts';
import { adminTokens } from './actions/admin-tokens.ts';
import { alarms } from './actions/alarms.ts';
import { audit } from './actions/audit.ts';
import { catalog } from './actions/catalog.ts';
import { channels } from './actions/channels.ts';
import { chats } from './actions/chats.ts';
import { credits } from './actions/credits.ts';
import { deliveries } from './actions/deliveries.ts';
import { scheduledJobs } from './actions/scheduled-jobs.ts';
import { keys } from './actions/keys.ts';
import { ledger } from './actions/ledger.ts';
import { operators } from './actions/operators.ts';
import { overview } from './actions/overview.ts';
import { plans } from './actions/plans.ts';
import { projects } from './actions/projects.ts';
import { search } from './actions/search.ts';
import { restore } from './actions/restore.ts';
import { secrets } from './actions/secrets.ts';
import { summary } from './actions/summary.ts';
import { tasks } from './actions/tasks.ts';
import { usage } from './actions/usage.ts';
import { webhooks } from './actions/webhooks.ts';

/** Everything that operators can do, in the order of the help. The command line and the admin API are made from this table. */
export const actionTable: Readonly<Record<string, Action | ActionGroup>> = {
  projects,
  keys,
  credits,
  channels,
  catalog,
  plans,
  tasks,
  chats,
  deliveries,
  webhooks,
  jobs: scheduledJobs,
  ledger,
  restore,
  secrets,
  usage,
  summary,
  search,
  overview,
  alarms,
  audit,
  'admin-tokens': adminTokens,
  operators,
};

/** Every action with the words of its command, such as `keys create`. */
export const allActions = (): { name: string; action: Action }[] => actionsOf(actionTable, []);

const actionsOf = (entries: typeof actionTable, words: readonly string[]): { name: string; action: Action }[] =>
  Object.entries(entries).flatMap(([word, entry]) =>
    'entries' in entry
      ? actionsOf(entry.entries(), [...words, word])
      : [{ name: [...words, word].join(' '), action: entry }],
  );
