import { z } from 'zod';
import type { PollResult } from '../domain/upstream.ts';
import type { CallOutcome } from './call-upstream.ts';
import type { Verdict } from './classify-outcome.ts';
import type { StopAnswer } from './channel.ts';

export type Trouble = Extract<Verdict<unknown>, { kind: 'trouble' }>;

/** The result of a poll that failed. 404 has a kind of its own: early it is ignored, later it means that the job is lost. */
export function failedPoll({ errorClass, detail, status }: Trouble): PollResult {
  if (errorClass === 'unknown_model') return { kind: 'missing', detail };
  return { kind: 'unclear', detail, ...(status !== undefined && { status }) };
}

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

/** A provider's id that becomes part of a path. It has no slash and no leading dot, so it cannot name another path. */
export const PathId = z.string().regex(/^[A-Za-z0-9][\w.-]{0,499}$/);

/** A reader for `readOutcome`: null for JSON that does not match the schema. */
export const parsedBy =
  <S extends z.ZodType>(schema: S) =>
  (json: unknown): z.infer<S> | null =>
    schema.safeParse(json).data ?? null;

/** The saved reference belongs to another family, because the channel's family was changed while the job ran. */
export const unreadableReference: PollResult = { kind: 'missing', detail: 'the saved reference cannot be read' };

/** A finished job without outputs: providers withhold an image without a reason (rules "Routing", while polling). */
export const noOutputs = (detail = 'done without outputs'): Extract<PollResult, { kind: 'refused' }> => ({
  kind: 'refused',
  code: 'content_policy_violation',
  detail,
});
