import { z } from 'zod';
import { entryPosition } from '../../../domain/time-position.ts';
import { EventText } from '../schemas/chat-completion.ts';
import type { Operation } from '../operation.ts';
import { wait } from './shared.ts';

/** An empty header is read as none. */
const orEmpty = ({ source }: RegExp): RegExp => new RegExp(`^$|${source}`);

export const webhookOperations: Record<string, Operation> = {
  'GET /api/v1/webhooks/events': {
    summary: 'Follow the callbacks of the project',
    description: [
      'Server-Sent Events: a callback of each task that ends, also of tasks without a `callback_url`, as `task.succeeded`, `task.failed` or `task.canceled`.',
      'The data has the signed `headers` and the `body` of the callback, to be passed on as they are. `listening` comes first, and again where only other requests of the project ended: it has the `project_id`. When the stream ends, connect again with `Last-Event-ID`, and nothing is missed.',
    ].join('\n\n'),
    tag: 'Tasks',
    parameters: [
      {
        ...wait,
        description:
          'Seconds after which the stream ends; 60 if absent. 0 reads at most 100 events of what is there; connect again for the rest, until only `listening` comes.',
      },
      {
        name: 'Last-Event-ID',
        in: 'header',
        description:
          'The `id` of the last event that the client received. Without it, the stream begins with the next callback.',
        schema: z
          .string()
          .regex(orEmpty(entryPosition))
          .meta({ examples: ['1795000000000000.1'] }),
      },
    ],
    answers: { 200: { description: 'The events.', content: { 'text/event-stream': EventText } } },
  },
};
