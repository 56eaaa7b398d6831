import { z } from 'zod';
import type { PollResult } from '../domain/upstream.ts';
import type { CallOutcome } from './call-upstream.ts';
import type { Verdict } from './classify-outcome.ts';
import type { StopAnswer } from './channel.ts';

export type Trouble = Extract<Verdict<unknown>, { kind: 'trouble' }>;

/** A poll that said nothing about the job. 404 is separate: an early one is ignored, a late one means that the job is lost. */
export function toUnsettled({ errorClass, detail, status }: Trouble): PollResult {
  if (errorClass === 'unknown_model') return { kind: 'missing', detail };
  return { kind: 'unclear', detail, ...(status !== undefined && { status }) };
}

/**
 * What a stop came to that was not confirmed. A provider's own no (it runs, it is over, it is not there) leaves the job as it
 * was, and so does a request that was never sent; anything else may have reached it.
 */
export function unconfirmed(outcome: CallOutcome): Exclude<StopAnswer, 'stopped'> {
  if (outcome.kind === 'not_sent') return 'not_stopped';
  const saidNo = outcome.kind === 'answered' && outcome.status >= 400 && outcome.status < 500 && outcome.status !== 408;
  return saidNo ? 'not_stopped' : 'unclear';
}

/** A provider's id that becomes part of a path, so it may be nothing but a name: no slash, and not a dot that climbs. */
export const PathId = z.string().regex(/^[A-Za-z0-9][\w.-]{0,499}$/);

/** The saved reference is not one of this family's: the channel's family was changed under a running job. */
export const strangeReference: PollResult = { kind: 'missing', detail: 'the saved reference cannot be read' };

/** Done, and there is nothing: providers hold a picture back without saying why (rules "Routing", while polling). */
export const nothingMade = (detail: string): Extract<PollResult, { kind: 'refused' }> => ({
  kind: 'refused',
  code: 'content_policy_violation',
  detail,
});
