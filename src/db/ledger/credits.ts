import type { Database, Statements } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';
import { leftOfGrants, type Expiring } from './grants.ts';

export interface Account {
  balance: number;
  reserved: number;
  expiring: Expiring[];
}

/** The credits of a project, without those that have ended; null if there is no such project. */
export const findAccount = (database: Database, projectId: string): Promise<Account | null> =>
  database.first<Account>(
    'show-credits',
    `select a.balance - grants.ended as balance, a.reserved, grants.expiring
     from credit_account a cross join lateral (${leftOfGrants('a')}) grants where a.project_id = $1`,
    [projectId],
  );

/** A member for each verdict, so that each excludes one. */
type Refused<Verdict extends string> = Verdict extends string ? { verdict: Verdict } : never;

/** The credits after the call, or the reason why nothing was added. */
export type AddedCredits =
  | { verdict: 'added' | 'already_added'; balance: number; reserved: number }
  | Refused<'project_not_found' | 'reference_reused' | 'too_many' | 'has_ended' | 'too_many_grants'>;

export interface NewCredits {
  projectId: string;
  amount: number;
  reference: string;
  expiresAt?: Date | null;
  actor: string;
}

/** Adds credits to a project, once for each reference (`add_credits_until.sql`). With `expiresAt` they end then. */
export const insertCredits = (database: Database, input: NewCredits): Promise<AddedCredits> =>
  database.transaction('begin', (_query, inside) => addCreditsInside(inside, input));

/** The same inside a transaction. */
export async function addCreditsInside(
  inside: Statements,
  { projectId, amount, reference, expiresAt = null, actor }: NewCredits,
  action: 'credits.add' | 'credits.redeem' = 'credits.add',
): Promise<AddedCredits> {
  const [added] = await inside.call<AddedCredits>('add_credits_until', [projectId, amount, reference, expiresAt]);
  if (!added) throw new Error('add_credits_until has no verdict');
  if (added.verdict === 'added') {
    const after = { balance: added.balance };
    await recordAudit(inside, {
      actor,
      action,
      subject: projectId,
      before: { balance: after.balance - amount },
      after,
      detail: { amount, reference, ...(expiresAt && { expiresAt }) },
    });
  }
  return added;
}

/** The credits after the call, or the reason why nothing was taken. */
export type DeductedCredits =
  | { verdict: 'deducted' | 'already_deducted'; balance: number; reserved: number }
  | Refused<'project_not_found' | 'reference_reused' | 'too_many'>;

/** Takes credits out of a project, once for each reference (`deduct_credits.sql`). */
export const insertDeduction = (
  database: Database,
  {
    projectId,
    amount,
    reference,
    reason,
    actor,
  }: { projectId: string; amount: number; reference: string; reason: string; actor: string },
): Promise<DeductedCredits> =>
  database.transaction('begin', async (_query, inside) => {
    const [deducted] = await inside.call<DeductedCredits>('deduct_credits', [projectId, amount, reference, reason]);
    if (!deducted) throw new Error('deduct_credits has no verdict');
    if (deducted.verdict === 'deducted') {
      const after = { balance: deducted.balance };
      await recordAudit(inside, {
        actor,
        action: 'credits.deduct',
        subject: projectId,
        before: { balance: after.balance + amount },
        after,
        detail: { amount, reference, reason },
      });
    }
    return deducted;
  });

/** Any verdict but `given` and `given_before` is the reason why nothing was given back. */
export type Adjustment =
  | { verdict: 'not_found' }
  | {
      verdict: 'given' | 'given_before' | 'not_settled' | 'nothing_left' | 'too_many' | 'reason_reused';
      projectId: string;
      /** Credits that this call gave back. */
      given: number;
      charged: number;
      givenInAll: number;
      balance: number;
    };

/** Gives credits of a charged request back, once for each reason (`adjust_credits.sql`). */
export const insertAdjustment = (
  database: Database,
  { requestId, amount, reason, actor }: { requestId: string; amount: number | null; reason: string; actor: string },
): Promise<Adjustment> =>
  database.transaction('begin', async (_query, inside) => {
    const [adjustment] = await inside.call<Adjustment>('adjust_credits', [requestId, amount, reason]);
    if (!adjustment) throw new Error('adjust_credits has no verdict');
    if (adjustment.verdict === 'given') {
      const { given: returned, projectId, balance, givenInAll } = adjustment;
      const after = { balance, givenInAll };
      await recordAudit(inside, {
        actor,
        action: 'credits.adjust',
        subject: requestId,
        before: { balance: after.balance - returned, givenInAll: after.givenInAll - returned },
        after,
        detail: { projectId, amount: returned, reason },
      });
    }
    return adjustment;
  });
