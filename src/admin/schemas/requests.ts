import { z } from 'zod';
import { taskTypes } from '../../domain/tasks/task.ts';
import { ChatRow } from './chats.ts';
import { taskId } from './ids.ts';

export const requestTypes = ['chat', ...taskTypes] as const;

/** A chat or a media task whose credits were held. */
export const RequestRow = ChatRow.extend({
  task_id: taskId.nullable().describe('Null for a chat.'),
  type: z
    .enum(requestTypes)
    .nullable()
    .describe('Null for a task whose row was deleted and whose model is not in the catalog any more.'),
  project_name: z.string(),
  key_name: z.string(),
}).meta({ id: 'RequestRow' });
