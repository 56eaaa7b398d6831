import { chatEndReasons } from '../../../../src/domain/chat/chat-end-reason.ts';
import { taskErrorTable } from '../../../../src/domain/tasks/task.ts';
import type { ChatRow } from '../../api/admin-types.ts';

type Outcome = ChatRow['outcome'];

/** The words of the ledger page for the outcomes of a chat. */
const names: Record<Outcome, string> = {
  running: 'running',
  succeeded: 'charged',
  incomplete: 'incomplete',
  refunded: 'refunded',
};

/** A client that left is neither a success nor a failure of the gateway. */
export const outcomeName = ({ outcome, reason }: Pick<ChatRow, 'outcome' | 'reason'>): string =>
  reason !== 'client_left' ? names[outcome] : outcome === 'incomplete' ? 'left, charged' : 'left, refunded';

export const outcomes: readonly { value: string; label: string }[] = [
  { value: 'running', label: 'Running' },
  { value: 'succeeded', label: 'Charged' },
  { value: 'incomplete', label: 'Incomplete' },
  { value: 'left_charged', label: 'Left, charged' },
  { value: 'refunded', label: 'Refunded' },
  { value: 'failed', label: 'Refunded: failed' },
  { value: 'refused', label: 'Refunded: refused' },
  { value: 'left', label: 'Client left' },
];

/** What the filter shows for an outcome and a reason of the address, and what the address has for its choice. */
export const chosenOutcome = ({ outcome, reason }: OutcomeSearch): string | undefined =>
  outcome === 'incomplete' && reason === 'client_left' ? 'left_charged' : outcome;
export const outcomeSearch = (chosen: string | undefined): OutcomeSearch =>
  chosen === 'left_charged' ? { outcome: 'incomplete', reason: 'client_left' } : { outcome: chosen, reason: undefined };

interface OutcomeSearch {
  outcome?: string | undefined;
  reason?: string | undefined;
}

/** Why chats end, refunded or charged for less than a whole answer, and why tasks fail. */
export const reasons: readonly string[] = [...new Set([...chatEndReasons, ...Object.keys(taskErrorTable)])];
