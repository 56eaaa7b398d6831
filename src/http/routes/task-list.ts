import { listTasks } from '../../services/tasks/show/list-tasks.ts';
import { taskStatuses, taskTypes } from '../../domain/tasks/task.ts';
import { readMetadata } from '../../domain/tasks/task-options.ts';
import { timePosition } from '../../domain/time-position.ts';
import { keyOf, type AppMiddleware } from '../context.ts';
import { createListCodec, pageQuery } from '../request/list-codec.ts';
import { queryMembers, queryOneOf, queryText, queryTime } from '../request/query.ts';

const codec = createListCodec('tasks', timePosition);

/** The query parameters of `listTasksRoute`. */
export const taskListQuery = [
  ...pageQuery,
  ...['status', 'type', 'model', 'key_id', 'created_after', 'created_before', 'metadata[]'],
];

/** `GET /api/v1/tasks`: the tasks of the key's project. */
export const listTasksRoute =
  (deps: Parameters<typeof listTasks>[0]): AppMiddleware =>
  async (ctx) => {
    const filter = {
      projectId: keyOf(ctx).projectId,
      status: queryOneOf(ctx, 'status', taskStatuses),
      type: queryOneOf(ctx, 'type', taskTypes),
      modelId: queryText(ctx, 'model'),
      keyId: queryText(ctx, 'key_id'),
      metadata: readMetadata(queryMembers(ctx, 'metadata')) ?? undefined,
      createdFrom: queryTime(ctx, 'created_after'),
      createdBefore: queryTime(ctx, 'created_before'),
    };
    ctx.body = codec.write(await listTasks(deps, filter, codec.read(ctx)));
  };
