import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import type { CreateDeps } from '../../services/tasks/create/create-media-task.ts';
import { presentTask } from '../../services/tasks/show/present-task.ts';
import { quoteMediaTask } from '../../services/tasks/create/quote-media-task.ts';
import { showTaskOf } from '../../services/tasks/show/show-task.ts';
import { scopes, type Scope } from '../../domain/projects/scope.ts';
import type { TaskType } from '../../domain/tasks/task.ts';
import { keyOf, type AppContext } from '../context.ts';
import { demandScope } from '../middleware/key-permissions.ts';
import { Quote, Task } from '../../schemas/task.ts';
import { createTask } from '../routes/media.ts';
import { waitForEnd, type WaitDeps } from '../routes/wait-for-end.ts';
import { MediaModels, mediaModels } from './media-models.ts';
import { creditsWorth } from '../../services/ledger/credit-value.ts';
import {
  CALL_COST_MAX,
  CreateArguments,
  createBodyOf,
  ModelsArguments,
  QuoteArguments,
  ReadArguments,
} from './tool-arguments.ts';
import { refusalResult, taskResult, valueResult } from './tool-result.ts';

export type McpDeps = CreateDeps & WaitDeps;

/** Part of the scope of an idempotency key. */
const route = '/mcp';
const reading = { readOnlyHint: true };
const buying = { readOnlyHint: false, destructiveHint: false, openWorldHint: true };

/** Gives the server its tools, each of which acts for the key of this request by the commands of the other routes. */
export function registerTools(server: McpServer, deps: McpDeps, ctx: AppContext): void {
  const { requestId } = ctx.state;
  const key = keyOf(ctx);
  /** Runs a tool for a key with one of these scopes. What it throws becomes its result. */
  const answer = async (accepted: readonly Scope[], work: () => Promise<CallToolResult>): Promise<CallToolResult> => {
    try {
      demandScope(ctx, ...accepted);
      return await work();
    } catch (error) {
      return refusalResult(deps, ctx, error);
    }
  };

  server.registerTool(
    'list_models',
    {
      title: 'List models',
      description: 'The picture and video models with their prices in credits; with `model` the parameters of one.',
      annotations: reading,
      inputSchema: ModelsArguments,
      outputSchema: MediaModels,
    },
    (request) => answer(scopes, async () => valueResult(await mediaModels(deps, key, request))),
  );

  server.registerTool(
    'quote',
    {
      title: 'Ask for a price',
      description: 'What a picture or a video would cost in credits, and whether the balance covers it. Buys nothing.',
      annotations: reading,
      inputSchema: QuoteArguments,
      outputSchema: Quote,
    },
    (request) =>
      answer(['media'], async () => {
        const input = { dialect: 'openai', route, idempotencyKey: null, body: createBodyOf(request) } as const;
        return valueResult(await quoteMediaTask(deps, { requestId, key, ...input }));
      }),
  );

  for (const { type, ...about } of generators) {
    server.registerTool(
      `generate_${type}`,
      { ...about, annotations: buying, inputSchema: CreateArguments, outputSchema: Task },
      ({ max_credits, wait_seconds: seconds, idempotency_key: idempotencyKey = null, ...request }) =>
        answer(['media'], async () => {
          const most = max_credits ?? (await creditsWorth(deps, CALL_COST_MAX));
          const body = { ...createBodyOf(request), max_credits: most };
          const task = await createTask(deps, ctx, { dialect: 'openai', type, route, idempotencyKey, body });
          const ended = await waitForEnd(deps, ctx, task, seconds);
          const isError = ended.status === 'failed' || ended.status === 'canceled';
          return { ...taskResult(shown(deps, ended)), isError };
        }),
    );
  }

  server.registerTool(
    'get_task',
    {
      title: 'Read a task',
      description: 'A picture or video task with its status and, once it has succeeded, links to its files.',
      annotations: reading,
      inputSchema: ReadArguments,
      outputSchema: Task,
    },
    ({ task_id: taskId, wait_seconds: seconds }) =>
      answer(['media', 'read'], async () => {
        const task = await showTaskOf(deps, { projectId: key.projectId, taskId });
        return taskResult(shown(deps, await waitForEnd(deps, ctx, task, seconds)));
      }),
  );
}

const generators: readonly { type: TaskType; title: string; description: string }[] = [
  {
    type: 'image',
    title: 'Generate a picture',
    description: 'Buys a picture and waits for it. What is not ready in time comes as a task to read with get_task.',
  },
  {
    type: 'video',
    title: 'Generate a video',
    description: 'Buys a video, which takes minutes: it comes as a task to read with get_task.',
  },
];

const shown = (deps: McpDeps, task: Parameters<typeof presentTask>[1]) => Task.parse(presentTask(deps, task));
