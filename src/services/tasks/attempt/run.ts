import type { Adapter, MediaRequest, Upstream } from '../../../adapters/channel.ts';
import type { AttemptTask } from '../../../db/tasks/attempts.ts';
import type { CredentialDraw } from '../../../channels/channel-cache.ts';
import { withCredential, type ChannelRow } from '../../../db/channels/channels.ts';
import type { Deps } from '../../../deps.ts';
import type { TaskMapping } from '../../../domain/tasks/task-snapshot.ts';
import type { TaskType } from '../../../domain/tasks/task.ts';
import { pause } from '../../../platform/pause.ts';
import { unreadableCredentials, usableCredential } from '../../channels/unseal-credential.ts';
import type { HeldInputs } from './inputs-for-upstream.ts';
import type { FreshAttempt } from './stages.ts';

export type AttemptDeps = Pick<
  Deps,
  | 'config'
  | 'db'
  | 'ledger'
  | 'channels'
  | 'adapters'
  | 'sealer'
  | 'egress'
  | 'files'
  | 'inputMemory'
  | 'logger'
  | 'metrics'
  | 'urls'
>;

/** The signals around one run of an attempt. */
export interface AttemptSignals {
  /** The workflow was canceled or has ended. Submit ignores this signal, polling obeys it. */
  canceled: AbortSignal;
  /** This process is shutting down: another worker resumes the attempt. */
  shutdown: AbortSignal;
  /** The process will shut down: what runs may finish, and nothing new begins. Fires before `shutdown`. */
  draining?: AbortSignal;
  /** Tells Temporal the attempt of this run, so that a later run knows if the database has lost it. */
  noteBegun?: (attemptId: string) => void;
}

/** Leaves an attempt that has not begun in this run to another worker, so that no submit holds a stopping process up. */
export function leaveIfDraining({ draining }: AttemptSignals): void {
  if (draining?.aborted) throw new AttemptInterrupted('draining');
}

/** Thrown if this process shuts down or another run has taken the attempt over. Never an outcome: the attempt is resumed. */
export class AttemptInterrupted extends Error {}

/** The media inputs of one run and the request built from them. The bytes count against the memory budget until released. */
export interface AttemptInputs {
  held: HeldInputs | null;
  request: MediaRequest | null;
}

/** The context that every stage of one run gets. */
export interface AttemptRun {
  deps: AttemptDeps;
  task: AttemptTask;
  channel: UsableChannel;
  signals: AttemptSignals;
  inputs: AttemptInputs;
  /** Set if the attempt's row was inserted when the task was read. */
  started: Omit<FreshAttempt, 'stage'> | null;
  /** When the attempt's row was inserted, by `performance.now()`, also by an earlier run. Null until this run inserts it. */
  begunAt: number | null;
  /** The workflow can wait for a parked job. */
  parkable: boolean;
  /** The workflow can be told that this run has ended the task. */
  reportsEnd: boolean;
  /** The time until the task's deadline. */
  remainingMs: () => number;
  /** Credentials of the channel that failed for this task, by id. They are not sent again. */
  failedCredentials: Set<string>;
  /** The call that was counted against the limits of the channel, until it is tied to the attempt; null without limits. */
  slot: ChannelSlot | null;
}

/** A call of a limited channel that this run has counted and not tied to an attempt yet. */
export interface ChannelSlot {
  callId: string;
  isTied: boolean;
}

/** A channel with everything that a call to it needs. */
export interface UsableChannel {
  row: ChannelRow;
  adapter: Adapter;
  upstream: Upstream;
  mapping: TaskMapping;
}

/** A channel that this process can call, whatever the task. */
export interface CallableChannel {
  row: ChannelRow;
  adapter: Adapter;
  credential: string;
}

/**
 * The channel with a credential, which `draw` says how to choose, but none of those that failed. Null when the channel is gone, makes no media, or no credential can be
 * decrypted. `mayBegin` is false while all credentials cool down: only a job that was submitted before is asked about then.
 */
export async function findCallableChannel(
  deps: AttemptDeps,
  channelId: string,
  { failed, ...draw }: Omit<CredentialDraw, 'without'> & { failed: ReadonlySet<string> },
): Promise<(CallableChannel & { mayBegin: boolean }) | null> {
  const row = await deps.channels.find(channelId);
  const adapter = row && deps.adapters[row.adapter];
  if (!row || !adapter?.submitMedia) return null;
  const without = new Set([...failed, ...unreadableCredentials(deps, row)]);
  const drawn = row.credentials.length === 1 ? row : await deps.channels.drawCredential(row, { ...draw, without });
  const credential = usableCredential(deps, drawn ?? row);
  return credential === null ? null : { row: drawn ?? row, adapter, credential, mayBegin: drawn !== null };
}

/** The channel ready for a call of this task; null when its family cannot make the task. */
export function usableFor(
  task: AttemptTask,
  { row, adapter, credential }: Pick<CallableChannel, 'row' | 'adapter' | 'credential'>,
): UsableChannel | null {
  const mapping = task.snapshot.upstream[row.adapter];
  const upstream = { channelId: row.id, baseUrl: row.baseUrl, credential, requestId: task.requestId };
  return mapping ? { row, adapter, mapping, upstream } : null;
}

/** The channel of a run as it is now, with the credential that was drawn if that may be sent. Null if it cannot be called, or not for this task. */
export async function findUsableChannel(run: AttemptRun): Promise<UsableChannel | null> {
  const { deps, task, slot, failedCredentials: failed } = run;
  const { id: channelId, credential: drawn } = run.channel.row;
  const callable = await findCallableChannel(deps, channelId, { failed, drawnBefore: drawn.id, takesTurn: false });
  if (callable?.mayBegin !== true) return null;
  // The limits of the drawn one have counted the call.
  const row = slot === null ? callable.row : withCredential(callable.row, drawn.id);
  const credential = row && usableCredential(deps, row);
  return row && credential !== null ? usableFor(task, { ...callable, row, credential }) : null;
}

/** The timeout of a submit to this channel. */
export const submitSeconds = ({ deps, task, channel }: AttemptRun): number =>
  submitSecondsOf(deps, channel.adapter, task.type);

function submitSecondsOf({ config }: Pick<AttemptDeps, 'config'>, adapter: Adapter, type: TaskType): number {
  const isLong = adapter.answersSynchronously?.includes(type) ?? false;
  return isLong ? config.attempts.synchronousTimeoutSeconds : config.attempts.submitTimeoutSeconds;
}

/** How long a submit may be in flight: its timeout, and a margin for writing its answer. */
export const submitLeaseSeconds = ({ deps, task, channel }: AttemptRun): number =>
  submitLeaseSecondsOf(deps, channel.adapter, task.type);

/** `submitLeaseSeconds` for a task that has not been read yet. */
export const submitLeaseSecondsOf = (deps: Pick<AttemptDeps, 'config'>, adapter: Adapter, type: TaskType): number =>
  submitSecondsOf(deps, adapter, type) + 5;

/** Providers answer a poll within a second; a poll that takes longer is repeated. */
export const pollTimeoutMs = 15_000;

/** Ends one poll or lookup at its timeout or at the task's deadline. */
export function callSignal({ remainingMs }: AttemptRun): AbortSignal {
  return timeoutSignal(Math.min(pollTimeoutMs, remainingMs()));
}

/** A timeout signal that accepts fractions of a millisecond and times in the past. */
export const timeoutSignal = (ms: number): AbortSignal => AbortSignal.timeout(Math.max(1, Math.ceil(ms)));

/** Waits until the time is over or the task is canceled; throws on shutdown. */
export async function waitUnlessShutdown({ signals }: AttemptRun, ms: number): Promise<void> {
  await pause(ms, AbortSignal.any([signals.canceled, signals.shutdown]));
  if (signals.shutdown.aborted) throw new AttemptInterrupted('shutting down');
}
