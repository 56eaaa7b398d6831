import { z } from 'zod';
import type { DeliveryState } from '../callbacks/delivery-state.ts';
import type { ErrorCode } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { TaskOptions } from './task-options.ts';
import type { TaskErrorCode, TaskStatus, TaskType } from './task.ts';

/** What is stored and shown of an output. */
export const outputFacts = {
  mime_type: z.string(),
  bytes: z.int(),
  width: z.int().nullable(),
  height: z.int().nullable(),
  duration: z.number().nullable().describe('Seconds. Null for pictures.'),
  sha256: z.string().describe('Lower-case hexadecimal.'),
};

/** One stored output of a task. Its public URL is signed when the task is presented. */
export interface TaskOutput extends z.infer<z.ZodObject<typeof outputFacts>> {
  file_id: string;
  /** Unix seconds. */
  expires_at: number;
}

/** A task as its client sees it, before a dialect renders it. Times are unix seconds. */
export interface TaskView extends TaskOptions {
  id: string;
  projectId: string;
  requestId: string;
  type: TaskType;
  modelId: string;
  status: TaskStatus;
  admission: 'open' | 'reserved' | 'rejected';
  /** Why the task was rejected. */
  refusalCode: ErrorCode | null;
  /** Whether its client deleted the task. Then no client finds it. */
  isDeleted: boolean;
  input: JsonObject | null;
  output: TaskOutput[] | null;
  errorCode: TaskErrorCode | null;
  outcomeUnknown: boolean;
  progress: number | null;
  attempts: number;
  createdAt: number;
  startedAt: number | null;
  completedAt: number | null;
  expiresAt: number | null;
  credits: { quoted: number; reserved: number; charged: number; refunded: number };
  callback: { state: DeliveryState; attempts: number; lastStatus: number | null; nextAttemptAt: number | null } | null;
}
