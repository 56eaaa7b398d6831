import type { ImportProgram } from '../../domain/imports/imported.ts';
import { quotaOfCredits } from '../../domain/imports/source-money.ts';
import { money } from '../../domain/ledger/money.ts';
import type { ImportSpent } from './list-import-spent.ts';

interface Units {
  program: ImportProgram;
  quotaPerUsd: number;
  /** In micro-USD. */
  creditValue: number;
}

/** What brings the quota or the spend of a former gateway to what a project or a key spent here. */
export const spentStatements = (row: ImportSpent, units: Units): string[] =>
  units.program === 'litellm' ? ofLitellm(row, units) : ofOneApi(row, units);

/** A quota is rounded in favour of the gateway. */
function ofOneApi({ kind, externalId, spent, added, redeemed }: ImportSpent, units: Units): string[] {
  const [used, paid] = [quotaOfCredits(spent, units, 'up'), quotaOfCredits(added, units, 'down')];
  const id = BigInt(externalId);
  if (kind === 'key')
    return [
      `update tokens set used_quota = used_quota + ${used}, remain_quota = remain_quota - ${used} where id = ${id};`,
    ];
  return [
    `update users set quota = quota - ${used} + ${paid}, used_quota = used_quota + ${used} where id = ${id};`,
    // one-api does not note who has redeemed a code.
    ...redeemed.map((code) => {
      const user = units.program === 'new-api' ? `, used_user_id = ${id}` : '';
      return `update redemptions set status = 3${user} where id = ${BigInt(code)};`;
    }),
  ];
}

function ofLitellm({ kind, externalId, spent, added }: ImportSpent, { creditValue }: Units): string[] {
  const usd = (credits: bigint): string => money(credits * BigInt(creditValue), '').replaceAll(',', '');
  if (kind === 'key')
    return [
      `update "LiteLLM_VerificationToken" set spend = spend + ${usd(spent)} where token = ${sqlText(externalId)};`,
    ];
  const [of = '', ...rest] = externalId.split(':');
  const id = rest.join(':');
  if (id === '') return ['-- Keys without a team or user have no budget of their own.'];
  const [table, column] = of === 'team' ? ['LiteLLM_TeamTable', 'team_id'] : ['LiteLLM_UserTable', 'user_id'];
  const paid = added === 0n ? '' : `, max_budget = max_budget + ${usd(added)}`;
  return [`update "${table}" set spend = spend + ${usd(spent)}${paid} where ${column} = ${sqlText(id)};`];
}

const sqlText = (text: string): string => `'${text.replaceAll("'", "''")}'`;
