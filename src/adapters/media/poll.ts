import type { z } from 'zod';
import type { PollResult } from '../../domain/channels/upstream.ts';
import type { CallOutcome } from '../upstream/call-upstream.ts';
import type { OutcomeVerdict } from '../upstream/classify-outcome.ts';
import type { StopAnswer } from '../channel.ts';

export type PollTrouble = Extract<OutcomeVerdict<unknown>, { kind: 'trouble' }>;

/** The result of a poll that failed. 404 is a separate kind: at first it is ignored, later it means that the job is lost. */
export const failedPoll = ({ errorClass, detail, status }: PollTrouble): PollResult =>
  errorClass === 'unknown_model' ? { kind: 'missing', detail } : { kind: 'unclear', detail, status };

/** The saved reference belongs to another family. */
export const unreadableReference: PollResult = { kind: 'missing', detail: 'the saved reference cannot be read' };

/**
 * The result of a stop that the provider did not confirm. A refusal (the job runs, has ended or is unknown) leaves the job
 * unchanged, as does a request that was never sent. After any other outcome the stop may have reached the provider.
 */
export function unconfirmedStop(outcome: CallOutcome): Exclude<StopAnswer, 'stopped'> {
  if (outcome.kind === 'not_sent') return 'not_stopped';
  const isRefused =
    outcome.kind === 'answered' && outcome.status >= 400 && outcome.status < 500 && outcome.status !== 408;
  return isRefused ? 'not_stopped' : 'unclear';
}

/** A reader for `readOutcome`: null for JSON that does not match the schema. */
export const parsedBy =
  <S extends z.ZodType>(schema: S) =>
  (json: unknown): z.infer<S> | null =>
    schema.safeParse(json).data ?? null;
