export { job } from './scheduled-job.ts';
export { mediaTask } from './media-task.ts';
export { redelivery } from './redelivery.ts';
