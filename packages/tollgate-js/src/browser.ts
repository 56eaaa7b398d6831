/** What a page can import as it is, without a bundler: the client without `verifyWebhook`, and so without a package. */
export { Tollgate } from './client.ts';
export type { CreateOptions, ReadOptions, TollgateOptions, WaitOptions } from './client.ts';
export { TollgateConnectionError, TollgateError } from './errors.ts';
export type { EventOptions, TaskEvent } from './task-events.ts';
export { isEnded } from './types.ts';
export type {
  CreateRequest,
  EndedTask,
  Quote,
  SucceededTask,
  Task,
  TaskFailure,
  TaskOutput,
  TaskType,
  UnsuccessfulTask,
} from './types.ts';
