import { addCredits, showCredits, type Credits } from '../../services/ledger/add-credits.ts';
import { adjustCredits } from '../../services/ledger/adjust-credits.ts';
import { redeemCode } from '../../services/imports/redeem-code.ts';
import { deductCredits } from '../../services/ledger/deduct-credits.ts';
import { AccountSchema, AdjustedCredits, CreditsSchema } from '../schemas/credits.ts';
import { group, option, action } from '../define-action.ts';
import { intFrom, moment, shortText } from '../input.ts';
import { factText, table, time } from '../plain-text.ts';
import { factsReport } from '../report.ts';
import { shownCredits } from '../shown-credits.ts';

/** `tollgate credits …`: the account of a project. */
export const creditActions = group('the account of a project', () => ({ add, redeem, deduct, adjust, show }));

const project = option('<id>', shortText).describe('project that owns the account');

const add = action({
  summary: 'add credits, once per reference',
  input: {
    project,
    amount: option('<credits>', intFrom()).describe('whole number of credits'),
    reference: option('<text>', shortText).describe('payment reference; a second call with the same one adds nothing'),
    expires: option('<time>', moment.nullable().default(null)).describe(
      'end at 2030-01-31, 2030-01-31T12:00:00Z, or after 12h, 30d: spent before credits that last, and what is left then leaves the account (default: never)',
    ),
  },
  example: { project: 'prj_01ky4m8r5t0v2x6z9b3d7f1h4k', amount: 5_000, reference: 'invoice-17' },
  route: { method: 'POST', path: '/credits', role: 'operator' },
  answer: CreditsSchema,
  refusals: ['not_found', 'action_refused'],
  needs: 'database',
  async run(deps, { project: projectId, amount, reference, expires: expiresAt }, actor) {
    const account = await addCredits(deps, { projectId, amount, reference, expiresAt, actor });
    const sentence = account.added
      ? `Added ${amount} credits to ${projectId}.`
      : `The reference ${reference} was already added. Nothing changed.`;
    return factsReport(sentence, toDocument(account), { shown: await shownAccount(deps, account) });
  },
});

const redeem = action({
  summary: 'give a project the credits of a redemption code of a former gateway, once',
  input: { project, code: option('<text>', shortText).describe('code that an import found unspent') },
  example: { project: 'prj_01ky4m8r5t0v2x6z9b3d7f1h4k', code: '5f0c8e9a1b2d4c6e8f0a1b2c3d4e5f60' },
  route: { method: 'POST', path: '/credits/redeem', role: 'operator' },
  answer: CreditsSchema,
  refusals: ['not_found', 'action_refused'],
  needs: 'database',
  async run(deps, { project: projectId, code }, actor) {
    const account = await redeemCode(deps, { projectId, code, actor });
    const sentence = account.added
      ? `Added ${account.credits} credits to ${projectId}.`
      : `${projectId} has redeemed this code already. Nothing changed.`;
    return factsReport(sentence, toDocument(account), { shown: await shownAccount(deps, account) });
  },
});

const deduct = action({
  summary: 'take credits out of a project, once per reference, for a payment that was refunded or charged back',
  input: {
    project,
    amount: option('<credits>', intFrom()).describe('whole number of credits; the balance may become negative'),
    reference: option('<text>', shortText).describe(
      'reference of the refund or chargeback; a second call with the same one deducts nothing',
    ),
    reason: option('<text>', shortText).describe('why; clients see it in their ledger'),
  },
  example: {
    project: 'prj_01ky4m8r5t0v2x6z9b3d7f1h4k',
    amount: 5_000,
    reference: 'chargeback-17',
    reason: 'the bank took the payment of invoice 17 back',
  },
  route: { method: 'POST', path: '/credits/deduct', role: 'operator' },
  answer: CreditsSchema,
  refusals: ['not_found', 'action_refused'],
  needs: 'database',
  async run(deps, { project: projectId, amount, reference, reason }, actor) {
    const account = await deductCredits(deps, { projectId, amount, reference, reason, actor });
    const sentence = account.deducted
      ? `Deducted ${amount} credits from ${projectId}.`
      : `The reference ${reference} was already deducted. Nothing changed.`;
    return factsReport(sentence, toDocument(account), { shown: await shownAccount(deps, account) });
  },
});

const adjust = action({
  summary: 'give back credits that a task or chat was charged, once per reason',
  input: {
    task: option('<id>', shortText).describe('task id (task_…) or request id of a chat (req_…)'),
    reason: option('<text>', shortText).describe('why; a second call with the same reason gives nothing back'),
    amount: option('<credits>', intFrom().optional()).describe('give back only this many (default: all that remain)'),
  },
  example: { task: 'task_01ky4m8r5t0v2x6z9b3d7f1h4k', reason: 'ticket 4711: the picture was blank' },
  route: { method: 'POST', path: '/credits/adjust', role: 'operator' },
  answer: AdjustedCredits,
  refusals: ['not_found', 'action_refused'],
  needs: 'database',
  async run(deps, { task: requestId, reason, amount = null }, actor) {
    const adjusted = await adjustCredits(deps, { requestId, amount, reason, actor });
    const { projectId, returned, charged, givenInAll, balance } = adjusted;
    const sentence =
      returned > 0
        ? `Gave ${returned} credits back to ${projectId}.`
        : `Credits were already given back for this reason. Nothing changed.`;
    const sums = { given: returned, charged, given_in_all: givenInAll, balance };
    const shown = await shownCredits(deps);
    return factsReport(
      sentence,
      { task_id: requestId, project_id: projectId, ...sums },
      { shown: Object.fromEntries(Object.entries(sums).map(([name, credits]) => [name, shown(credits)])) },
    );
  },
});

const show = action({
  summary: 'show the balance of a project, how much of it is reserved, and which credits expire',
  input: { project },
  route: { method: 'GET', path: '/credits', role: 'viewer' },
  answer: AccountSchema,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { project: projectId }) {
    const account = await showCredits(deps, projectId);
    const document = toDocument(account);
    const text = factText({ ...document, ...(await shownAccount(deps, account)) });
    const expiring = account.expiring.map(({ credits, expiresAt }) => ({ credits, expires_at: expiresAt }));
    if (expiring.length === 0) return { document: { ...document, expiring }, text };
    const shown = await shownCredits(deps);
    const lines = expiring.map(({ credits, expires_at: at }) => ({ expiring: shown(credits), expires_at: time(at) }));
    return { document: { ...document, expiring }, text: `${text}\n\n${table(lines)}` };
  },
});

async function shownAccount(deps: Parameters<typeof shownCredits>[0], { balance, reserved }: Credits) {
  const shown = await shownCredits(deps);
  return { balance: shown(balance), reserved: shown(reserved) };
}

const toDocument = ({ projectId, balance, reserved }: Credits) => ({ project_id: projectId, balance, reserved });
