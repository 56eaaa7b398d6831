import type { Verb, VerbGroup } from './define-verb.ts';
import { adminTokens } from './groups/admin-tokens.ts';
import { alarms } from './groups/alarms.ts';
import { audit } from './groups/audit.ts';
import { catalog } from './groups/catalog.ts';
import { channels } from './groups/channels.ts';
import { chats } from './groups/chats.ts';
import { credits } from './groups/credits.ts';
import { deliveries } from './groups/deliveries.ts';
import { jobs } from './groups/jobs.ts';
import { keys } from './groups/keys.ts';
import { ledger } from './groups/ledger.ts';
import { operators } from './groups/operators.ts';
import { overview } from './groups/overview.ts';
import { projects } from './groups/projects.ts';
import { secrets } from './groups/secrets.ts';
import { summary } from './groups/summary.ts';
import { tasks } from './groups/tasks.ts';
import { usage } from './groups/usage.ts';
import { webhooks } from './groups/webhooks.ts';

/** Everything that operators can do, in the order of the help. The command line and the admin API are made from this table. */
export const verbTable: Readonly<Record<string, Verb | VerbGroup>> = {
  projects,
  keys,
  credits,
  channels,
  catalog,
  tasks,
  chats,
  deliveries,
  webhooks,
  jobs,
  ledger,
  secrets,
  usage,
  summary,
  overview,
  alarms,
  audit,
  'admin-tokens': adminTokens,
  operators,
};

/** Every verb with the words of its command, such as `keys create`. */
export const allVerbs = (): { name: string; verb: Verb }[] => verbsOf(verbTable, []);

const verbsOf = (entries: typeof verbTable, words: readonly string[]): { name: string; verb: Verb }[] =>
  Object.entries(entries).flatMap(([word, entry]) =>
    'entries' in entry
      ? verbsOf(entry.entries(), [...words, word])
      : [{ name: [...words, word].join(' '), verb: entry }],
  );
