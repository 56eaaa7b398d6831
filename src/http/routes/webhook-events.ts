import {
  followProjectEvents,
  lastEventPosition,
  readSomeEvents,
  type FollowEventsDeps,
  type EventStep,
} from '../../services/callbacks/project-events.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { entryPosition } from '../../domain/time-position.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import { EventStream } from '../response/event-stream.ts';
import type { TaskWaits } from '../response/task-waits.ts';
import { queryWait } from './task-wait.ts';

type EventDeps = FollowEventsDeps & { taskWaits: TaskWaits };

/** After this time the client connects again, so that a revoked key reads no further. */
const STREAM_SECONDS = 60;
const RECONNECT_MS = 1_000;

/**
 * `GET /api/v1/webhooks/events`: the callbacks of the key's project as Server-Sent Events, signed, whether or not their task has a callback
 * URL. They begin after `Last-Event-ID`, else with the next one. The stream ends after `wait` seconds, a minute by default, or earlier if the
 * server stops. With `wait=0`, or if too many requests wait, it ends after a page of what is there. The client then connects again.
 */
export const streamWebhookEvents =
  (deps: EventDeps): AppMiddleware =>
  async (ctx) => {
    const { projectId } = keyOf(ctx);
    const seconds = queryWait(ctx) ?? STREAM_SECONDS;
    const after = resumePosition(ctx) ?? (await lastEventPosition(deps, projectId));
    if (ctx.method === 'HEAD') {
      ctx.type = 'text/event-stream; charset=utf-8';
      ctx.status = 200;
      return;
    }
    const events = new EventStream(ctx);
    const send = ({ position, event }: EventStep): Promise<void> | undefined =>
      events.write(eventText(position, event, projectId));
    const waiting = seconds === 0 ? null : deps.taskWaits.enter(ctx);
    try {
      await events.write(`retry: ${RECONNECT_MS}\n\n`);
      // It tells the client where to resume, also before anything has happened.
      await send({ position: after, event: null });
      const over = AbortSignal.any([
        events.gone,
        ...(waiting ? [waiting.signal, AbortSignal.timeout(seconds * 1_000)] : []),
      ]);
      const read = waiting ? followProjectEvents : readSomeEvents;
      for await (const step of read(deps, { projectId, after }, over)) await send(step);
    } finally {
      waiting?.leave();
      events.end('');
    }
  };

const eventText = (id: string, event: EventStep['event'], projectId: string): string => {
  const { type, ...data } = event ?? { type: 'listening', project_id: projectId };
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
};

/** Where the client stopped reading; null if it has not read yet. */
function resumePosition(ctx: AppContext): string | null {
  const id = ctx.get('last-event-id');
  if (id === '' || entryPosition.test(id)) return id || null;
  const message = `Last-Event-ID: ${quoted(id)} is not the id of an event of this stream.`;
  throw new GatewayError('invalid_value', { message, param: 'Last-Event-ID' });
}
