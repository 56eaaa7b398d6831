import { LRUCache } from 'lru-cache';
import type { Deps } from '../../../deps.ts';
import type { PollResult } from '../../../domain/channels/upstream.ts';
import { alarmOf } from '../../../domain/operators/alarm.ts';

/** After so many answers that call a job finished and cannot be read, the job is given up. */
export const unreadablePollsMax = 3;

/** The jobs about which an alarm was raised. An alarm for each poll would fill the log. */
const alarmed = new LRUCache<string, true>({ max: 10_000 });

/** Where a poll found an answer. */
interface Polled {
  attemptId: string;
  taskId: string;
  channel: string;
}

/** Raises an alarm, once for each job, if a provider's word for its state is unknown. The job goes on being polled. */
export function alarmUnknownWord(
  { logger }: Pick<Deps, 'logger'>,
  { attemptId, taskId, channel }: Polled,
  polled: PollResult,
): void {
  if (polled.kind !== 'unclear' || polled.unknownWord === undefined || alarmed.get(attemptId)) return;
  alarmed.set(attemptId, true);
  const facts = { task_id: taskId, channel, word: polled.unknownWord };
  logger.error({ ...alarmOf('unknown_state'), ...facts }, 'a provider names an unknown state of a provider job');
}

/** Raises an alarm about a finished job that is given up, with the shape of its answer: keys and types, no values. */
export function alarmUnreadable({ logger }: Pick<Deps, 'logger'>, { taskId, channel }: Polled, shape: string): void {
  const facts = { task_id: taskId, channel, shape };
  logger.error(
    { ...alarmOf('unreadable_answer'), ...facts },
    'a provider job is finished, and its answer cannot be read',
  );
}
