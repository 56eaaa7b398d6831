import { readEvents } from './event-stream.ts';
import { pause, spread } from './pause.ts';
import { openStream, type Connection } from './send.ts';
import { isEnded, type Task } from './types.ts';

/** A change of a task. */
export interface TaskEvent {
  /** Where the stream resumes after this event: `lastEventId` of another call. */
  id: string;
  type: 'task.updated' | 'task.succeeded' | 'task.failed' | 'task.canceled';
  task: Task;
}

export interface EventOptions {
  /** The `id` of the last event that was seen: only what has changed since comes. */
  lastEventId?: string;
  /** Ends the events. The task goes on. */
  signal?: AbortSignal;
}

/** Unless the gateway names another time. */
const RECONNECT_MS = 2_000;

/**
 * The task now and after each change, until it has ended. The gateway ends a stream early when it stops or is busy: then, and after a lost
 * connection, the stream resumes after the last event.
 */
export async function* taskEvents(
  connection: Connection,
  taskId: string,
  { lastEventId = '', signal }: EventOptions,
): AsyncGenerator<TaskEvent, void, undefined> {
  const path = `/api/v1/tasks/${encodeURIComponent(taskId)}/events`;
  let seen = lastEventId;
  let reconnectMs = RECONNECT_MS;
  for (;;) {
    const headers = { accept: 'text/event-stream', ...(seen !== '' && { 'last-event-id': seen }) };
    const { status, body } = await openStream(connection, { method: 'GET', path, headers, signal });
    // The last event that was seen is the end.
    if (status === 204 || body === null) return;
    try {
      for await (const { id, type, data } of readEvents(body, (ms) => (reconnectMs = ms))) {
        const task = JSON.parse(data) as Task;
        seen = id;
        yield { id, type: type as TaskEvent['type'], task };
        if (isEnded(task)) return;
      }
    } catch {
      // The connection was lost, or the signal has fired.
      signal?.throwIfAborted();
    }
    await pause(spread(reconnectMs), signal);
  }
}
