import type { components, paths } from './api-types.ts';

/** A task as the gateway shows it. */
export type Task = components['schemas']['Task'];

/** What a task would cost. */
export type Quote = components['schemas']['Quote'];

export type TaskType = Task['type'];

type Body = paths['/api/v1/images/generate']['post']['requestBody']['content']['application/json'];

/**
 * The body of a create. Beside the fields that every model takes, each model has parameters of its own: the gateway's `/docs` lists
 * them.
 */
export type CreateRequest = Omit<Body, 'dry_run'> & { [parameter: string]: unknown };

/** Whether a task has succeeded, failed or was canceled. An ended task never changes again. */
export const isEnded = ({ status }: Pick<Task, 'status'>): boolean => status !== 'queued' && status !== 'processing';
