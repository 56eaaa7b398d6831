import { SourceError, type SourceDatabase, type SourceRow } from '../../db/imports/source-database.ts';
import { emptyInstallation, type ImportedInstallation } from '../../domain/imports/imported.ts';
import { creditsOfQuota } from '../../domain/imports/source-money.ts';
import { demandTables } from './demand-tables.ts';
import { isDeleted, type OneApiProgram, type OneApiImport } from './one-api-import.ts';
import { readOneApiChannels } from './read-one-api-channels.ts';
import { readOneApiPrices } from './read-one-api-prices.ts';
import { readOneApiTokens } from './read-one-api-tokens.ts';
import { clipped, columnNumber, columnText, countOne, metadataOf, quotaOf } from './source-values.ts';

const needed = {
  users: ['id', 'username', 'status', 'quota'],
  tokens: ['id', 'user_id', 'key', 'status', 'expired_time', 'remain_quota', 'unlimited_quota'],
  channels: ['id', 'type', 'key', 'status', 'name', 'models'],
  options: ['key', 'value'],
} as const;

/** Reads the database of one-api or new-api, in any version since tokens have quotas. Throws `SourceError`. */
export async function readOneApi(
  program: OneApiProgram,
  source: SourceDatabase,
  creditValue: number,
): Promise<ImportedInstallation> {
  const tables = await demandTables(source, program, needed);
  const isNewApi = tables.get('tokens')?.has('model_limits') ?? false;
  if (isNewApi !== (program === 'new-api')) {
    const other = isNewApi ? 'new-api' : 'one-api';
    throw new SourceError(`The ${source.name} is of ${other}, not of ${program}: run import ${other}.`);
  }
  const options = new Map(
    (await source.rows('options', ['key', 'value'])).map((row) => [columnText(row, 'key'), columnText(row, 'value')]),
  );
  const installation = emptyInstallation();
  const perUsd = Number(options.get('QuotaPerUnit') ?? installation.quotaPerUsd);
  if (!(perUsd >= 0.001)) {
    throw new SourceError(`The option QuotaPerUnit of the ${source.name} must be a number above 0.`);
  }
  installation.quotaPerUsd = perUsd;
  const credits = (row: SourceRow, column: string): number | null => {
    const quota = quotaOf(row, column);
    return quota === null ? null : creditsOfQuota(quota, perUsd, creditValue);
  };
  const context: OneApiImport = { program, source, installation, credits, userNames: new Map(), creditValue };
  await readUsers(context);
  await readOneApiTokens(context);
  await readOneApiChannels(context);
  readOneApiPrices(context, options, perUsd);
  if (tables.has('redemptions')) await readRedemptions(context);
  for (const [table, words] of Object.entries(uncarriedTables)) {
    const rows = tables.has(table) ? await source.count(table) : 0;
    if (rows > 0) installation.leftOut.set(words, rows);
  }
  return installation;
}

/** Tables whose rows have no counterpart here. */
const uncarriedTables: Readonly<Record<string, string>> = {
  logs: 'log entries',
  midjourneys: 'Midjourney tasks',
  tasks: 'tasks of Suno and video channels',
  top_ups: 'payments',
  quota_data: 'rows of usage statistics',
  passkey_credentials: 'passkeys',
  two_fas: 'second factors of users',
  prefill_groups: 'groups of prefilled values',
  checkins: 'check-ins',
  user_subscriptions: 'subscriptions of users',
};

const disabledUser = 2;
const deletedUser = 3;

async function readUsers({ source, installation, credits, userNames }: OneApiImport): Promise<void> {
  const columns = ['id', 'username', 'display_name', 'email', 'role', 'status', 'quota', 'used_quota', 'request_count'];
  for (const row of await source.rows('users', [...columns, 'group', 'remark', 'deleted_at', 'inviter_id'])) {
    const id = columnText(row, 'id');
    const name = columnText(row, 'username') || columnText(row, 'display_name') || `user ${id}`;
    const subject = `user ${id} (${name})`;
    const status = columnNumber(row, 'status') ?? 1;
    if (status === deletedUser || columnText(row, 'deleted_at') !== '' || row['deleted_at'] instanceof Date) {
      countOne(installation.leftOut, 'deleted users');
      continue;
    }
    userNames.set(id, name);
    const quota = columnText(row, 'quota');
    const balance = credits(row, 'quota');
    if (balance === null) {
      installation.notices.push({
        kind: 'refused',
        subject,
        sentence: `has a quota beyond the exact range: ${quota}.`,
      });
      continue;
    }
    if (balance < 0) {
      const sentence = `has a negative quota (${quota}): the project owes ${-balance} credits.`;
      installation.notices.push({ kind: 'check', subject, sentence });
    }
    const group = columnText(row, 'group') || 'default';
    installation.groupOf.set(id, group);
    installation.owners.push({
      id,
      name: clipped(name, 200),
      enabled: status !== disabledUser,
      credits: balance,
      overdraft: 0,
      metadata: metadataOf({
        display_name: columnText(row, 'display_name') === name ? '' : columnText(row, 'display_name'),
        email: columnText(row, 'email'),
        group,
        remark: columnText(row, 'remark'),
        used_quota: columnText(row, 'used_quota'),
      }),
    });
  }
}

const unusedCode = 1;

async function readRedemptions({ source, installation, credits }: OneApiImport): Promise<void> {
  const columns = ['id', 'key', 'status', 'name', 'quota', 'expired_time', 'deleted_at'];
  const codes = new Set<string>();
  for (const row of await source.rows('redemptions', columns)) {
    if (columnNumber(row, 'status') !== unusedCode || isDeleted(row)) continue;
    const worth = credits(row, 'quota');
    const subject = `redemption code ${columnText(row, 'id')}`;
    if (worth === null) {
      installation.notices.push({ kind: 'refused', subject, sentence: 'has a quota beyond the exact range.' });
      continue;
    }
    const end = columnNumber(row, 'expired_time') ?? 0;
    const code = columnText(row, 'key');
    if (worth <= 0 || code === '' || codes.has(code) || (end > 0 && end * 1_000 <= Date.now())) {
      countOne(installation.leftOut, 'redemption codes that have ended, repeat another one or are worth nothing');
      continue;
    }
    codes.add(code);
    installation.redemptions.push({
      id: columnText(row, 'id'),
      code,
      name: columnText(row, 'name'),
      credits: worth,
      expiresAt: end > 0 ? end : null,
    });
  }
}
