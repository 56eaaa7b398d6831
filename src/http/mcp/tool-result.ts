import type { CallToolResult } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { isTerminal } from '../../domain/tasks/task.ts';
import type { AppContext } from '../context.ts';
import { nonNullFields } from '../dialects/chat-fields.ts';
import { openaiError } from '../dialects/openai/openai.ts';
import type { HttpDeps } from '../http-deps.ts';
import { logCause, refusalIn } from '../middleware/answer-errors.ts';
import type { Task } from '../../schemas/task.ts';

/** The result of a tool: its value, and the same as text for clients that read no structured content. */
export const valueResult = (value: Record<string, unknown>): CallToolResult => ({
  content: [textOf(value)],
  structuredContent: value,
});

/** A task with a link to each of its files, or with what to do next while it runs. */
export function taskResult(task: z.output<typeof Task>): CallToolResult {
  const { task_id: id, status, output } = task;
  const next = `The task ${id} is ${status}. Call get_task with its task_id to wait for the result.`;
  const links = (output ?? []).map(({ url, mime_type: mimeType }, index) => ({
    type: 'resource_link' as const,
    uri: url,
    name: `${id}-${index + 1}`,
    mimeType,
  }));
  return {
    content: [textOf(task), ...(isTerminal(status) ? links : [{ type: 'text' as const, text: next }])],
    structuredContent: task,
  };
}

/**
 * A refusal as the result of a tool, so that the model reads it and can do better. As text alone: clients of earlier revisions check
 * structured content against the schema of a success.
 */
export function refusalResult({ logger }: Pick<HttpDeps, 'logger'>, ctx: AppContext, thrown: unknown): CallToolResult {
  const refusal = refusalIn(ctx, thrown);
  logCause(logger, ctx, refusal);
  const { retryAfterSeconds: retry_after_seconds, taskId: task_id, accepted } = refusal;
  const { error } = openaiError(refusal);
  const more = { ...nonNullFields({ retry_after_seconds, task_id, accepted }), request_id: ctx.state.requestId };
  return { content: [textOf({ error: { ...error, ...more } })], isError: true };
}

const textOf = (value: object) => ({ type: 'text' as const, text: JSON.stringify(value) });
