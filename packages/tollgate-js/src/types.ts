import type { components, paths } from './api-types.ts';

type AnyTask = components['schemas']['Task'];
type In<Status extends AnyTask['status'], Ending> = Omit<AnyTask, 'status' | keyof Ending> & {
  status: Status;
} & Ending;

export type TaskOutput = components['schemas']['TaskOutput'];
export type TaskFailure = NonNullable<AnyTask['error']>;

/** A task that has a result. */
export type SucceededTask = In<'succeeded', { output: [TaskOutput, ...TaskOutput[]]; error: null }>;
/** A task that ended without a result. */
export type UnsuccessfulTask = In<'failed' | 'canceled', { error: TaskFailure }>;
/** A task as it ends. */
export type EndedTask = SucceededTask | UnsuccessfulTask;

/** A task as the gateway shows it. The `output` of an old one is null once its content was erased. */
export type Task = In<'queued' | 'processing', { error: null }> | In<'succeeded', { error: null }> | UnsuccessfulTask;

/** What a task would cost. */
export type Quote = components['schemas']['Quote'];

export type TaskType = AnyTask['type'];

type Body = paths['/api/v1/images/generate']['post']['requestBody']['content']['application/json'];

/**
 * The body of a create. Beside the fields that every model takes, each model has parameters of its own: the gateway's `/docs` lists
 * them.
 */
export type CreateRequest = Omit<Body, 'dry_run'> & { [parameter: string]: unknown };

/** Whether a task has succeeded, failed or was canceled. An ended task never changes again. */
export const isEnded = ({ status }: Pick<Task, 'status'>): boolean => status !== 'queued' && status !== 'processing';
