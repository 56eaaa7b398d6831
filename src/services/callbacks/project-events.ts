import { watchChanges } from '../../caches/watch.ts';
import { ledgerEnds, listEndEntries, type EndEntry } from '../../db/tasks/list-task-ends.ts';
import { readProjectSecret } from '../../db/projects/project-secret.ts';
import { findTasks } from '../../db/tasks/tasks.ts';
import type { Deps } from '../../deps.ts';
import { endEventId } from '../../domain/callbacks/end-event-id.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import { callbackBody, callbackHeaders, unsealSecrets } from './callback-message.ts';

type EventDeps = Pick<Deps, 'config' | 'db' | 'sealer' | 'urls' | 'logger'>;
export type FollowEventsDeps = EventDeps & Pick<Deps, 'ledgerWatch'>;

/** The end of a task as its callback tells it, whether or not the task has a callback URL. */
export interface ProjectEvent {
  /** Such as `task.succeeded`. */
  type: string;
  /** All headers of the callback, signed now. */
  headers: Record<string, string>;
  body: string;
}

/** What came next in the ledger of a project. */
export interface EventStep {
  /** Where to resume after this one (`entryPosition`). */
  position: string;
  /** Null if no task ended up to here. */
  event: ProjectEvent | null;
}

export interface EventsAfter {
  projectId: string;
  /** Matches `entryPosition`. */
  after: string;
}

const pageMax = 100;
/** Tasks whose events are made at the same time: each may have inputs of 100 kB, which are read, written and signed. */
const groupMax = 4;

/** The entries of a page in their order, in groups with few tasks each. */
function* groupsOf(entries: readonly EndEntry[]): Generator<readonly EndEntry[]> {
  let group: EndEntry[] = [];
  let tasks = 0;
  for (const entry of entries) {
    group.push(entry);
    if (entry.taskId !== null) tasks += 1;
    if (tasks < groupMax) continue;
    yield group;
    [group, tasks] = [[], 0];
  }
  if (group.length > 0) yield group;
}

/** What one request reads that does not wait: as many events as a page of a list has, or the entries that a few milliseconds read. */
const requestBounds = { eventsMax: 100, entriesMax: 2_000 };

/** Where the events of a project begin that have not happened yet. */
export async function lastEventPosition({ db }: Pick<Deps, 'db'>, projectId: string): Promise<string> {
  const [end] = await ledgerEnds(db, [projectId]);
  if (!end) throw new Error('the end of a ledger was not found');
  return end.version;
}

/** The events of a project after a position, and then each new one, until `signal` fires. Throws if they cannot be read or signed. */
export async function* followProjectEvents(
  deps: FollowEventsDeps,
  { projectId, after }: EventsAfter,
  signal: AbortSignal,
): AsyncGenerator<EventStep, void, undefined> {
  let position = after;
  for await (const _ of watchChanges(deps.ledgerWatch, projectId, signal)) {
    position = yield* readProjectEvents(deps, { projectId, after: position }, signal);
  }
}

/** The next events of a project after a position, as many as one request may read. The client sends another one for the rest. */
export async function* readSomeEvents(
  deps: EventDeps,
  start: EventsAfter,
  signal: AbortSignal,
): AsyncGenerator<EventStep, void, undefined> {
  let events = 0;
  for await (const step of readProjectEvents(deps, start, signal, requestBounds.entriesMax)) {
    yield step;
    if (step.event !== null) events += 1;
    if (events >= requestBounds.eventsMax) return;
  }
}

/** The events of a project from a position to the end of its ledger, or over `entriesMax` entries. Returns the last position. */
async function* readProjectEvents(
  deps: EventDeps,
  { projectId, after }: EventsAfter,
  signal: AbortSignal,
  entriesMax = Infinity,
): AsyncGenerator<EventStep, string, undefined> {
  let position = after;
  for (let read = 0; read < entriesMax && !signal.aborted; read += pageMax) {
    const entries = await listEndEntries(deps.db, { projectId, after: position, limit: pageMax });
    const last = entries.at(-1);
    if (last === undefined) break;
    position = last.position;
    for (const group of groupsOf(entries)) {
      if (signal.aborted) break;
      const events = await eventsOf(deps, projectId, group);
      for (const entry of group) {
        const event = events.get(entry) ?? null;
        // Without the last one, a client of a project with many chats and few tasks would resume far back.
        if (event !== null || entry === last) yield { position: entry.position, event };
      }
    }
  }
  return position;
}

async function eventsOf(
  deps: EventDeps,
  projectId: string,
  entries: readonly EndEntry[],
): Promise<Map<EndEntry, ProjectEvent>> {
  const ids = entries.flatMap(({ taskId }) => taskId ?? []);
  if (ids.length === 0) return new Map();
  const secrets = await secretsOf(deps, projectId);
  const tasks = new Map((await findTasks(deps.db, ids)).map((task) => [task.id, task]));
  return new Map(
    entries.flatMap((entry) => {
      const task = tasks.get(entry.taskId ?? '');
      // A deleted task is 404 from then on, and so are its events.
      return task && !task.isDeleted ? [[entry, toEvent(deps, entry, task, secrets)] as const] : [];
    }),
  );
}

function toEvent(deps: EventDeps, { eventId }: EndEntry, task: TaskView, secrets: readonly string[]): ProjectEvent {
  // The same in each process and after each new connection, so that the receiver can ignore duplicates.
  // A callback of an earlier release has an id of its own.
  const id = eventId ?? endEventId(task.id);
  const body = callbackBody(deps, id, task);
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = callbackHeaders(deps, { id, requestId: task.requestId, timestamp, body, secrets });
  return { type: `task.${task.status}`, headers, body };
}

async function secretsOf(deps: EventDeps, projectId: string): Promise<string[]> {
  const stored = await readProjectSecret(deps.db, projectId);
  if (!stored) throw new Error(`the project ${projectId} has no callback secret`);
  const sealed = { projectId, sealedSecret: stored.sealed, sealedPreviousSecret: stored.sealedPrevious };
  const secrets = unsealSecrets(deps, sealed, { project_id: projectId });
  if (secrets.length === 0) throw new Error(`no callback secret of ${projectId} could be decrypted`);
  return secrets;
}
