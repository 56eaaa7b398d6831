import { z } from 'zod';
import type { Deps } from '../../deps.ts';
import { followTask } from '../../services/tasks/show/follow-task.ts';
import { presentTask } from '../../services/tasks/show/present-task.ts';
import { showTaskOf } from '../../services/tasks/show/show-task.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import { isTerminal } from '../../domain/tasks/task.ts';
import { requestedTask, type AppContext } from '../context.ts';
import type { Description, Tag } from '../description.ts';
import { EventText } from '../openapi/schemas/chat-completion.ts';
import { answerStreamHead, EventStream } from '../response/event-stream.ts';
import { endpoint, type Route } from '../route.ts';
import { getRow, ownTaskScope } from './common-rows.ts';
import type { WaitDeps } from './wait-for-end.ts';

type EventDeps = WaitDeps & Pick<Deps, 'db' | 'urls'>;

/** What a client waits before it connects again after a stream that ended before the task. */
const RECONNECT_MS = 2_000;

/**
 * `GET /api/v1/tasks/{task_id}/events`: the task now and after each of its changes, as Server-Sent Events. The stream ends with the
 * task. It ends earlier if too many requests wait or the server stops; the client then connects again, and `Last-Event-ID` says what it
 * has already received. A client that has received the end is answered 204, which tells it not to connect again.
 */
export const taskEventsRoute = (
  deps: EventDeps,
  { path, ...row }: { path: string; params: Description['params']; tag: Tag },
): Route =>
  endpoint({
    ...getRow(path, ownTaskScope),
    ...row,
    summary: 'Follow a task',
    description:
      'Server-Sent Events: `task.updated` with the task as it is and after each change, and at the end `task.succeeded`, `task.failed` or `task.canceled`.',
    headers: {
      'Last-Event-ID': z
        .string()
        .describe('The `id` of the last event that the client received: only what has changed since is sent.'),
    },
    answers: {
      200: { description: 'The events.', content: { 'text/event-stream': EventText } },
      204: { description: 'The client has received the end.' },
    },
    errors: ['task_not_found'],
    handler: (ctx) => streamTaskEvents(deps, ctx),
  });

async function streamTaskEvents(deps: EventDeps, ctx: AppContext): Promise<void> {
  const task = await showTaskOf(deps, requestedTask(ctx));
  const received = ctx.get('last-event-id');
  if (isTerminal(task.status) && received === eventId(task)) {
    ctx.status = 204;
    return;
  }
  if (answerStreamHead(ctx)) return;
  const events = new EventStream(ctx);
  const waiting = isTerminal(task.status) ? null : deps.taskWaits.enter(ctx);
  let last = received;
  const send = (latest: TaskView): Promise<void> | undefined => {
    const id = eventId(latest);
    if (id === last) return undefined;
    last = id;
    return events.write(
      `id: ${id}\nevent: ${eventType(latest)}\ndata: ${JSON.stringify(presentTask(deps, latest))}\n\n`,
    );
  };
  try {
    await events.write(`retry: ${RECONNECT_MS}\n\n`);
    await send(task);
    if (waiting === null) return;
    for await (const latest of followTask(deps, task.id, AbortSignal.any([waiting.signal, events.gone]))) {
      await send(latest);
      if (isTerminal(latest.status)) break;
    }
  } finally {
    waiting?.leave();
    events.end('');
  }
}

/** The same for the same state of the task, in every process. */
const eventId = ({ status, progress, attempts }: TaskView): string =>
  isTerminal(status) ? status : [status, attempts, progress ?? 0].join('.');

const eventType = ({ status }: TaskView): string => (isTerminal(status) ? `task.${status}` : 'task.updated');
