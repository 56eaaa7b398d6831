import type { Plan } from '../plans/plan.ts';
import type { Scope } from './scope.ts';
import type { TraceContent } from './trace-content.ts';

/** A valid key, as authentication needs it. Budgets are missing, because only admission reads them. */
export interface AuthenticatedKey {
  keyId: string;
  projectId: string;
  /** What this key may do. */
  scopes: readonly Scope[];
  /** The addresses that may use this key, as CIDRs. Null means all. */
  ipRanges: readonly string[] | null;
  /** The models that this key may use. Null means all. */
  models: string[] | null;
  /** Requests per minute. Null means no limit. */
  rpm: number | null;
  /** Tasks and chats that may run at the same time. Null means no limit. */
  inFlightMax: number | null;
  /** The plan of its project. Null: the prices of the catalog. */
  plan: Plan | null;
  /** How much of its chats' content traces of its project have. Null: nothing. */
  traceContent: TraceContent | null;
  /** Whether a chat of this key lost its client, so that its repetition may take the answer over. */
  hasLostChats: boolean;
}
