import type { SourceRow } from '../../db/imports/source-database.ts';
import type { ImportedKey, KeySecret } from '../../domain/imports/imported.ts';
import { creditsOfUsd } from '../../domain/imports/source-money.ts';
import { matchesGlob } from '../../domain/plans/model-pattern.ts';
import { isPlausibleApiKey } from '../../platform/crypto/api-key.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';
import { teamOwner, userOwner, type LitellmImport } from './litellm-import.ts';
import {
  amountOf,
  clipped,
  columnNumber,
  columnText,
  countOne,
  jsonOf,
  metadataOf,
  secondsOf,
  textsOf,
  truthOf,
} from './source-values.ts';

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

/** LiteLLM's console keeps its login sessions as keys of this team. */
const dashboardTeam = 'litellm-dashboard';
/** Owns the keys with neither a team nor a user. */
const withoutOwner = userOwner('');

/** What only some keys have and no key here can: the column, and what it is. */
const unreadColumns = {
  aliases: 'names of its own for models',
  model_max_budget: 'budgets for single models',
  budget_limits: 'several budgets beside each other',
};

/**
 * Keys of LiteLLM, which stores them as their SHA-256. `addOwner` is called for each key without a known team, with the row of its
 * user, if there is one.
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
    const { id, secret } = secretOf(row);
    const name = columnText(row, 'key_alias') || columnText(row, 'key_name') || id.slice(0, 12);
    if (secret === null) {
      const sentence = 'has a secret that cannot be sent in a header: give its user a new key.';
      installation.notices.push({ kind: 'left_out', subject: `key ${name}`, sentence });
      continue;
    }
    const isOfTeam = teams.has(teamId);
    const ownerId = isOfTeam ? teamOwner(teamId) : users.has(userId) ? userOwner(userId) : withoutOwner;
    if (!isOfTeam) addOwner(ownerId, users.get(userId));
    // A refused owner has a notice of its own.
    if (!installation.owners.some(({ id }) => id === ownerId)) continue;
    const owner = isOfTeam ? teams.get(teamId) : users.get(userId);
    const key = toKey(context, row, { id, ownerId, name, secret, owner });
    if (key) installation.keys.push(key);
  }
}

/**
 * A key's secret, null if it cannot be one here, and its digest as the id. Only LiteLLM's first versions stored a key in plain text, which is
 * never an id, because ids are stored, shown and logged.
 */
function secretOf(row: SourceRow): { id: string; secret: KeySecret | null } {
  const token = columnText(row, 'token');
  if (!/^[0-9a-f]{64}$/.test(token))
    return { id: sha256Hex(token), secret: isPlausibleApiKey(token) ? { plain: [token] } : null };
  const last4 = /^sk-\.\.\.(.{4})$/.exec(columnText(row, 'key_name'))?.[1] ?? '';
  return { id: token, secret: { sha256: token, prefix: 'sk-', last4 } };
}

interface LitellmKeyFacts {
  id: string;
  ownerId: string;
  name: string;
  secret: KeySecret;
  /** The row of its team or user. */
  owner: SourceRow | undefined;
}

function toKey(
  context: LitellmImport,
  row: SourceRow,
  { id, ownerId, name, secret, owner }: LitellmKeyFacts,
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
  for (const [column, what] of Object.entries(unreadColumns))
    if (Object.keys(jsonOf(row[column]) ?? {}).length > 0) check(`has ${what} (${column}), which are not imported.`);
  const period = columnText(row, 'budget_duration') || (shared ? columnText(shared, 'budget_duration') : '');
  const [usd, spend] = [own('max_budget', amountOf), amountOf(row, 'spend') ?? 0];
  const budgets = budgetsOf({ usd, spend, period }, context.creditValue, check);
  if (!budgets) {
    note('refused', `has a budget or a spend beyond the exact range: ${String(usd)} and ${spend} USD.`);
    return null;
  }
  return {
    id,
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

/**
 * A budget that renews by the day or the month does so here. One of less than a day becomes a daily one, and any other a monthly one. Null beyond the
 * exact range.
 */
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
  const isDaily = seconds !== null && seconds <= 86_400;
  const isMonth = seconds !== null && seconds >= 28 * 86_400 && seconds <= 31 * 86_400;
  if (seconds !== 86_400 && !isMonth)
    check(`has ${usd} USD every ${period}: here it is a budget of each ${isDaily ? 'day' : 'month'}.`);
  return isDaily ? { ...none, budgetDaily: budget } : { ...none, budgetMonthly: budget };
}

/** `30s`, `30m`, `24h`, `7d`, `1w`, `1mo`. Null for what cannot be read. */
function periodSeconds(period: string): number | null {
  const [, number, unit = ''] = /^(\d+)\s*(mo|s|m|h|d|w)/.exec(period) ?? [];
  const seconds = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800, mo: 30 * 86_400 }[unit];
  return seconds === undefined ? null : Number(number) * seconds;
}

/** What both the key and its team or user allow. An empty list allows every model, and so does `all-proxy-models`. */
function modelsOf(row: SourceRow, owner: SourceRow | undefined, check: (sentence: string) => void): string[] | null {
  const ofOwner = allowedModelsOf(owner ? textsOf(owner['models']) : []);
  const written = textsOf(row['models']);
  const own = written.includes('all-team-models') ? ofOwner : allowedModelsOf(written);
  const both = own === null || ofOwner === null ? (own ?? ofOwner) : inBoth(own, ofOwner);
  const globs = both?.filter((model) => model.includes('*')) ?? [];
  if (globs.length > 0) check(`allows ${globs.join(', ')}: name the models with keys set --models.`);
  return both;
}

/** Each name of one list that a name or a glob of the other allows. */
function inBoth(some: readonly string[], others: readonly string[]): string[] {
  const allowed = (models: readonly string[], by: readonly string[]): string[] =>
    models.filter((model) => by.some((glob) => glob === model || matchesGlob(glob, model)));
  return [...new Set([...allowed(some, others), ...allowed(others, some)])];
}

const allowedModelsOf = (models: readonly string[]): string[] | null => {
  if (models.length === 0 || models.includes('all-proxy-models') || models.includes('*')) return null;
  return models.filter((model) => model !== 'no-default-models');
};
