import { Migration0001LedgerAndTasks } from './0001-ledger-and-tasks.ts';
import { Migration0002MoneyVerbs } from './0002-money-verbs.ts';
import { Migration0003Attempts } from './0003-attempts.ts';
import { Migration0004Deliveries } from './0004-deliveries.ts';
import { Migration0005Chat } from './0005-chat.ts';
import { Migration0006Keys } from './0006-keys.ts';
import { Migration0007Jobs } from './0007-jobs.ts';
import { Migration0008Health } from './0008-health.ts';
import { Migration0010ChatSpeed } from './0010-chat-speed.ts';
import { Migration0011Resolve } from './0011-resolve.ts';
import { Migration0012AppendOnly } from './0012-append-only.ts';
import { Migration0013SummaryChannel } from './0013-summary-channel.ts';
import { Migration0014CancelRefused } from './0014-cancel-refused.ts';
import { Migration0015TaskInputs } from './0015-task-inputs.ts';
import { Migration0016ChatAttempts } from './0016-chat-attempts.ts';
import { Migration0017HeldById } from './0017-held-by-id.ts';

/** In the order they run. A released migration never changes; what follows is a new one. */
export const migrations = [
  { name: '0001-ledger-and-tasks', class: Migration0001LedgerAndTasks },
  { name: '0002-money-verbs', class: Migration0002MoneyVerbs },
  { name: '0003-attempts', class: Migration0003Attempts },
  { name: '0004-deliveries', class: Migration0004Deliveries },
  { name: '0005-chat', class: Migration0005Chat },
  { name: '0006-keys', class: Migration0006Keys },
  { name: '0007-jobs', class: Migration0007Jobs },
  { name: '0008-health', class: Migration0008Health },
  { name: '0010-chat-speed', class: Migration0010ChatSpeed },
  { name: '0011-resolve', class: Migration0011Resolve },
  { name: '0012-append-only', class: Migration0012AppendOnly },
  { name: '0013-summary-channel', class: Migration0013SummaryChannel },
  { name: '0014-cancel-refused', class: Migration0014CancelRefused },
  { name: '0015-task-inputs', class: Migration0015TaskInputs },
  { name: '0016-chat-attempts', class: Migration0016ChatAttempts },
  { name: '0017-held-by-id', class: Migration0017HeldById },
];
