export { mediaTask } from './media-task.ts';
