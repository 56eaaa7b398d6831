export { job } from './jobs.ts';
export { mediaTask } from './media-task.ts';
export { redelivery } from './redelivery.ts';
