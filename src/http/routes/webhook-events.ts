import { z } from 'zod';
import {
  followProjectEvents,
  lastEventPosition,
  readSomeEvents,
  type FollowEventsDeps,
  type EventStep,
} from '../../services/callbacks/project-events.ts';
import { entryPosition } from '../../domain/time-position.ts';
import { keyOf, type AppContext } from '../context.ts';
import { EventText } from '../openapi/schemas/chat-completion.ts';
import { headerText } from '../request/query.ts';
import { answerStreamHead, EventStream } from '../response/event-stream.ts';
import type { TaskWaits } from '../response/task-waits.ts';
import { endpoint, type Route } from '../route.ts';
import { waitParameter } from './common-descriptions.ts';
import { getRow, readScope } from './common-rows.ts';

type EventDeps = FollowEventsDeps & { taskWaits: TaskWaits };

/** After this time the client connects again, so that a revoked key reads no further. */
const STREAM_SECONDS = 60;
const RECONNECT_MS = 1_000;

/**
 * `GET /api/v1/webhooks/events`: the callbacks of the key's project as Server-Sent Events, signed, whether or not their task has a callback
 * URL. They begin after `Last-Event-ID`, else with the next one. The stream ends after `wait` seconds, a minute by default, or earlier if the
 * server stops. With `wait=0`, or if too many requests wait, it ends after a page of what is there. The client then connects again.
 */
export const webhookEventsRoute = (deps: EventDeps): Route =>
  endpoint({
    ...getRow('/api/v1/webhooks/events', readScope),
    tag: 'Tasks',
    summary: 'Follow the callbacks of the project',
    description: [
      'Server-Sent Events: a callback of each task that ends, also of tasks without a `callback_url`, as `task.succeeded`, `task.failed` or `task.canceled`.',
      'The data has the signed `headers` and the `body` of the callback, to be passed on as they are. `listening` comes first, and again where only other requests of the project ended: it has the `project_id`. When the stream ends, connect again with `Last-Event-ID`, and nothing is missed.',
    ].join('\n\n'),
    query: {
      wait: waitParameter(
        'Seconds after which the stream ends; 60 if absent. 0 reads at most 100 events of what is there; connect again for the rest, until only `listening` comes.',
      ),
    },
    headers: {
      'Last-Event-ID': z
        .string()
        .regex(new RegExp(`^$|${entryPosition.source}`))
        .meta({ examples: ['1795000000000000.1'] })
        .describe(
          'The `id` of the last event that the client received. Without it, the stream begins with the next callback.',
        ),
    },
    answers: { 200: { description: 'The events.', content: { 'text/event-stream': EventText } } },
    handler: (ctx, { wait = STREAM_SECONDS }) => streamWebhookEvents(deps, ctx, wait),
  });

async function streamWebhookEvents(deps: EventDeps, ctx: AppContext, seconds: number): Promise<void> {
  const { projectId } = keyOf(ctx);
  const after =
    headerText(ctx, 'Last-Event-ID', entryPosition, 'the id of an event of this stream') ??
    (await lastEventPosition(deps, projectId));
  if (answerStreamHead(ctx)) return;
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
}

const eventText = (id: string, event: EventStep['event'], projectId: string): string => {
  const { type, ...data } = event ?? { type: 'listening', project_id: projectId };
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
};
