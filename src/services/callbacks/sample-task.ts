import { optionsOf, readTaskOptions } from '../../domain/tasks/task-options.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import { newId } from '../../platform/crypto/ids.ts';

/** The types of events about a task. */
export const eventTypes = ['task.succeeded', 'task.failed', 'task.canceled'] as const;
export type EventType = (typeof eventTypes)[number];

/** A task that never was, as it ended with this event. Times are unix seconds. */
export function sampleTask(type: EventType, { projectId, now }: { projectId: string; now: number }): TaskView {
  const isSuccess = type === 'task.succeeded';
  const expiresAt = now + 7 * 86_400;
  return {
    id: newId('task'),
    projectId,
    requestId: newId('req'),
    type: 'image',
    modelId: 'sample-image',
    status: endings[type].status,
    admission: 'reserved',
    refusalCode: null,
    ...optionsOf(readTaskOptions({ metadata: { sample: 'true' } }, 900)),
    isDeleted: false,
    input: { prompt: 'a sample of a callback' },
    output: isSuccess ? [{ ...samplePicture, file_id: newId('file'), expires_at: expiresAt }] : null,
    errorCode: endings[type].errorCode,
    outcomeUnknown: false,
    progress: isSuccess ? 100 : null,
    attempts: 1,
    createdAt: now - 5,
    startedAt: now - 4,
    completedAt: now,
    expiresAt,
    credits: { quoted: 4, reserved: 4, charged: isSuccess ? 4 : 0, refunded: isSuccess ? 0 : 4 },
    callback: { state: 'pending', attempts: 0, lastStatus: null, nextAttemptAt: now },
  };
}

const endings = {
  'task.succeeded': { status: 'succeeded', errorCode: null },
  'task.failed': { status: 'failed', errorCode: 'upstream_failed' },
  'task.canceled': { status: 'canceled', errorCode: 'canceled' },
} as const;

const samplePicture = {
  mime_type: 'image/png',
  bytes: 1_048_576,
  width: 1_024,
  height: 1_024,
  duration: null,
  sha256: '0'.repeat(64),
};
