import { z } from 'zod';
import { taskTypes } from '../../domain/tasks/task.ts';
import { ChatRow, ChatTimeline, forCustomer } from './chats.ts';
import { TaskTimeline } from './tasks.ts';
import { timestamp } from '../../schemas/time.ts';
import { errorTable, type ErrorCode } from '../../domain/errors.ts';
import { keyId, projectId, requestId, taskId } from './ids.ts';

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

const errorCodes = Object.keys(errorTable) as ErrorCode[];

const AnsweredRequestSchema = z
  .object({
    explanation: z.string().describe('Why it was answered so, and that it cost nothing, in sentences for people.'),
    answered_at: timestamp,
    method: z.string(),
    route: z.string().describe('Its template.'),
    status: z.int().describe('499: the client left before the answer began.'),
    error_code: z
      .enum(errorCodes)
      .nullable()
      .describe('Null for an answer without an error, and for what an earlier release answered.'),
    ms: z.int().describe('How long it took.'),
    key_id: keyId.nullable(),
    key_name: z.string().nullable(),
    project_id: projectId.nullable(),
    project_name: z.string().nullable(),
    model: z.string().nullable().describe('Null if the request was refused before its model was known.'),
    for_customer: forCustomer,
  })
  .meta({ id: 'AnsweredRequest' });

/** What an id of a request is of. */
export const ShownRequest = z
  .object({
    request_id: requestId,
    kind: z
      .enum(['chat', 'task', 'answered'])
      .describe(
        '`chat`: credits were held for it. `task`: it created `task_id`. `answered`: no credits were held for it.',
      ),
    task_id: taskId.nullable(),
    answered: AnsweredRequestSchema.nullable().describe('Null for a chat and for a task.'),
    chat: ChatTimeline.nullable().describe('What `GET /chats/{id}` answers.'),
    task: TaskTimeline.nullable().describe('What `GET /tasks/{id}` answers.'),
  })
  .meta({ id: 'ShownRequest' });
