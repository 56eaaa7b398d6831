import { noteCredentialOfAttempt } from '../../../db/channels/credential-of-attempt.ts';
import { channelOfAttempt, removedCredential } from '../../channels/credential-of-attempt.ts';
import { usableCredential } from '../../channels/unseal-credential.ts';
import { leaveToNewHolder } from './leave.ts';
import { patiently } from './patiently.ts';
import { lostProviderJob } from './provider-job-end.ts';
import { usableFor, type AttemptRun } from './run.ts';
import {
  decided,
  type AcceptedSubmit,
  type Ending,
  type FinishedProviderJob,
  type FreshAttempt,
  type UnansweredSubmit,
} from './stages.ts';

/** An attempt whose row this run holds. */
export type Begun = FreshAttempt | UnansweredSubmit | AcceptedSubmit | FinishedProviderJob;

/**
 * Ties an attempt to one credential of its channel. A fresh attempt notes the one that was drawn, before it sends anything, and holds the
 * slot of a limit until its end; an attempt that an earlier run began goes on with the one that is noted. A job whose credential was removed is lost.
 */
export async function tieToCredential(run: AttemptRun, begun: Begun): Promise<AttemptRun | Ending> {
  const { deps, task, channel, slot } = run;
  const { holder } = begun;
  if (begun.stage === 'fresh' && slot) {
    await patiently(run, () => deps.channels.calls.tie(slot.callId, holder.attemptId));
    slot.isTied = true;
  }
  if (!channel.row.isPooled) return run;
  if (begun.stage === 'fresh') {
    const noted = await patiently(run, () => noteCredentialOfAttempt(deps.db, holder, channel.row.credential.id));
    return noted ? run : leaveToNewHolder(run, holder);
  }
  const row = await patiently(run, () => channelOfAttempt(deps, channel.row, holder.attemptId));
  const credential = row && usableCredential(deps, row);
  const own = row && credential !== null ? usableFor(task, { ...channel, row, credential }) : null;
  if (own) return { ...run, channel: own };
  // Results whose addresses are noted need the credential only where its family sends it with a download.
  return begun.stage === 'finished' ? run : decided(holder, lostProviderJob(removedCredential));
}
