import type { SourceRow } from '../../db/imports/source-database.ts';
import type { ImportedKey, KeySecret } from '../../domain/imports/imported.ts';
import { creditsOfUsd } from '../../domain/imports/source-money.ts';
import { isPlausibleApiKey } from '../../platform/crypto/api-key.ts';
import { metadataOf } from './metadata-of.ts';
import { teamOwner, userOwner, type LitellmImport } from './litellm-import.ts';
import { countOne } from './count-one.ts';
import { amountOf, clipped, columnNumber, secondsOf, columnText, textsOf, truthOf } from './source-values.ts';

const columns = [
  'token',
  'key_name',
  'key_alias',
  'spend',
  'expires',
  'models',
  'user_id',
  'team_id',
  'organization_id',
  'max_budget',
  'budget_duration',
  'budget_id',
  'rpm_limit',
  'tpm_limit',
  'max_parallel_requests',
  'blocked',
  'aliases',
  'project_id',
  'model_max_budget',
  'budget_limits',
];

/** The keys of the sessions of LiteLLM's own console. */
const dashboardTeam = 'litellm-dashboard';
const withoutOwner = 'user:';

/**
 * Keys of LiteLLM, which stores them as their SHA-256. `addOwner` is told of the user of each key without a team, or of none.
 */
export async function readLitellmKeys(
  context: LitellmImport,
  addOwner: (ownerId: string, row: SourceRow | undefined) => void,
): Promise<void> {
  const { source, installation, teams, users } = context;
  for (const row of await source.rows('LiteLLM_VerificationToken', columns)) {
    const [teamId, userId] = [columnText(row, 'team_id'), columnText(row, 'user_id')];
    if (teamId === dashboardTeam) {
      countOne(installation.leftOut, 'sessions of the dashboard');
      continue;
    }
    const name = columnText(row, 'key_alias') || columnText(row, 'key_name') || columnText(row, 'token').slice(0, 12);
    const secret = secretOf(row);
    if (secret === null) {
      const sentence = 'has a secret that cannot be sent in a header: give its user a new key.';
      installation.notices.push({ kind: 'left_out', subject: `key ${name}`, sentence });
      continue;
    }
    const isOfTeam = teams.has(teamId);
    const ownerId = isOfTeam ? teamOwner(teamId) : users.has(userId) ? userOwner(userId) : withoutOwner;
    if (!isOfTeam) addOwner(ownerId, users.get(userId));
    // An owner that was refused is named already.
    if (!installation.owners.some(({ id }) => id === ownerId)) continue;
    const owner = isOfTeam ? teams.get(teamId) : users.get(userId);
    const key = toKey(context, row, { ownerId, name, secret, owner });
    if (key) installation.keys.push(key);
  }
}

/** The proxy has the key itself only of its first versions. */
function secretOf(row: SourceRow): KeySecret | null {
  const token = columnText(row, 'token');
  if (!/^[0-9a-f]{64}$/.test(token)) return isPlausibleApiKey(token) ? { plain: [token] } : null;
  const last4 = /^sk-\.\.\.(.{4})$/.exec(columnText(row, 'key_name'))?.[1] ?? '';
  return { sha256: token, prefix: 'sk-', last4 };
}

interface LitellmKeyFacts {
  ownerId: string;
  name: string;
  secret: KeySecret;
  /** The row of its team or user. */
  owner: SourceRow | undefined;
}

function toKey(
  context: LitellmImport,
  row: SourceRow,
  { ownerId, name, secret, owner }: LitellmKeyFacts,
): ImportedKey | null {
  const shared = context.budgets.get(columnText(row, 'budget_id'));
  const note = (kind: 'check' | 'refused', sentence: string) =>
    context.installation.notices.push({ kind, subject: `key ${name}`, sentence });
  const check = (sentence: string) => note('check', sentence);
  const own = (column: string, read = columnNumber): number | null =>
    read(row, column) ?? (shared ? read(shared, column) : null);
  const smallest = (column: string): number | null => {
    const values = [own(column), owner ? columnNumber(owner, column) : null].filter((value) => value !== null);
    return values.length === 0 ? null : Math.trunc(Math.min(2_147_483_647, ...values));
  };
  const limit = (column: string): number | null => {
    const least = smallest(column);
    if (least === null || least > 0) return least;
    check(`has ${least} as ${column}, which allows nothing there: here it is 1.`);
    return 1;
  };
  if (smallest('tpm_limit') !== null) check('has a limit of tokens per minute, which a key here cannot have.');
  if (columnText(row, 'project_id') !== '')
    check('belongs to a project inside its team, whose budget is not imported.');
  const period = columnText(row, 'budget_duration') || (shared ? columnText(shared, 'budget_duration') : '');
  const [usd, spend] = [own('max_budget', amountOf), amountOf(row, 'spend') ?? 0];
  const budgets = budgetsOf({ usd, spend, period }, context.creditValue, check);
  if (!budgets) {
    note('refused', `has a budget or a spend beyond the exact range: ${String(usd)} and ${spend} USD.`);
    return null;
  }
  return {
    id: columnText(row, 'token').slice(0, 64),
    ownerId,
    name: clipped(name, 200),
    secret,
    enabled: !truthOf(row, 'blocked'),
    expiresAt: secondsOf(row['expires']),
    ...budgets,
    models: modelsOf(row, owner, check),
    ipRanges: null,
    rpm: limit('rpm_limit'),
    inFlightMax: limit('max_parallel_requests'),
    metadata: metadataOf({
      litellm_user: columnText(row, 'user_id'),
      organization: columnText(row, 'organization_id'),
    }),
  };
}

type KeyBudgets = Pick<ImportedKey, 'budget' | 'budgetDaily' | 'budgetMonthly'>;

/** A budget that renews by the day or the month does so here. One with another period takes the next longer one. Null beyond the exact range. */
function budgetsOf(
  { usd, spend, period }: { usd: number | null; spend: number; period: string },
  creditValue: number,
  check: (sentence: string) => void,
): KeyBudgets | null {
  const none: KeyBudgets = { budget: null, budgetDaily: null, budgetMonthly: null };
  if (usd === null) return none;
  const credits = creditsOfUsd(period === '' ? usd - spend : usd, creditValue);
  if (credits === null) return null;
  if (usd < 0) check(`has a negative budget (${usd} USD): its budget is 0.`);
  const budget = Math.max(0, credits);
  if (period === '') return { ...none, budget };
  const seconds = periodSeconds(period);
  const isDaily = seconds <= 86_400;
  if (seconds !== 86_400 && !(seconds >= 28 * 86_400 && seconds <= 31 * 86_400))
    check(`has ${usd} USD every ${period}: here it is a budget of each ${isDaily ? 'day' : 'month'}.`);
  return isDaily ? { ...none, budgetDaily: budget } : { ...none, budgetMonthly: budget };
}

/** `30s`, `30m`, `24h`, `7d`, `1w`, `1mo`. What cannot be read counts as a month. */
function periodSeconds(period: string): number {
  const [, number = '1', unit = 'mo'] = /^(\d+)\s*(s|m|h|d|w|mo)/.exec(period.replace(/^(\d+)mo.*/, '$1mo')) ?? [];
  const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800, mo: 30 * 86_400 };
  return Number(number) * (units[unit] ?? 86_400);
}

/** What both the key and its team or user allow. An empty list allows every model, and so does `all-proxy-models`. */
function modelsOf(row: SourceRow, owner: SourceRow | undefined, check: (sentence: string) => void): string[] | null {
  const ofOwner = listOf(owner ? textsOf(owner['models']) : []);
  const written = textsOf(row['models']);
  const own = written.includes('all-team-models') ? ofOwner : listOf(written);
  const both = own === null ? ofOwner : ofOwner === null ? own : own.filter((model) => ofOwner.includes(model));
  const globs = both?.filter((model) => model.includes('*')) ?? [];
  if (globs.length > 0) check(`allows ${globs.join(', ')}: name the models with keys set --models.`);
  return both;
}

const listOf = (models: readonly string[]): string[] | null => {
  if (models.length === 0 || models.includes('all-proxy-models') || models.includes('*')) return null;
  return models.filter((model) => model !== 'no-default-models');
};
