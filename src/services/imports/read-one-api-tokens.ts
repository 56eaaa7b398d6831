import type { SourceRow } from '../../db/imports/source-database.ts';
import type { ImportedKey } from '../../domain/imports/imported.ts';
import { isPlausibleApiKey } from '../../platform/crypto/api-key.ts';
import { toCidr } from '../../platform/egress/public-address.ts';
import { isDeleted, type OneApiImport } from './one-api-import.ts';
import { clipped, columnNumber, columnText, countOne, metadataOf, truthOf, wordsOf } from './source-values.ts';

const enabledToken = 1;
const disabledToken = 2;
const expiredToken = 3;
const never = -1;

const columns = [
  'id',
  'user_id',
  'key',
  'status',
  'name',
  'expired_time',
  'remain_quota',
  'unlimited_quota',
  'used_quota',
  'models',
  'subnet',
  'model_limits_enabled',
  'model_limits',
  'allow_ips',
  'group',
  'deleted_at',
];

/** Tokens become keys. A token of a user who is not imported, or with a secret that cannot work here, is left out and named. */
export async function readOneApiTokens(context: OneApiImport): Promise<void> {
  const { source, installation, userNames } = context;
  const existing = new Set(installation.owners.map(({ id }) => id));
  for (const row of await source.rows('tokens', columns)) {
    const ownerId = columnText(row, 'user_id');
    const subject = `token ${columnText(row, 'id')} (${columnText(row, 'name')}) of user ${userNames.get(ownerId) ?? ownerId}`;
    if (isDeleted(row)) {
      countOne(installation.leftOut, 'deleted tokens');
      continue;
    }
    if (!existing.has(ownerId)) {
      if (userNames.has(ownerId)) continue;
      countOne(installation.leftOut, 'tokens of deleted users');
      continue;
    }
    const plain = columnText(row, 'key').replace(/^sk-/, '');
    if (plain === '' || !isPlausibleApiKey(`sk-${plain}`)) {
      const sentence = 'has a secret that cannot be sent in a header: give its user a new key.';
      installation.notices.push({ kind: 'left_out', subject, sentence });
      continue;
    }
    const key = toKey(context, row, { ownerId, subject, plain });
    if (key) installation.keys.push(key);
  }
}

function toKey(
  { installation, credits }: OneApiImport,
  row: SourceRow,
  { ownerId, subject, plain }: { ownerId: string; subject: string; plain: string },
): ImportedKey | null {
  const refuse = (sentence: string): null => {
    installation.notices.push({ kind: 'refused', subject, sentence });
    return null;
  };
  // Of a token without a limit the programs write any number.
  const isUnlimited = truthOf(row, 'unlimited_quota');
  const quota = columnText(row, 'remain_quota');
  const budget = isUnlimited ? null : credits(row, 'remain_quota');
  if (budget === null && !isUnlimited) return refuse(`has a quota beyond the exact range: ${quota}.`);
  if (budget !== null && budget < 0) {
    const sentence = `has a negative quota (${quota}): its budget is 0.`;
    installation.notices.push({ kind: 'check', subject, sentence });
  }
  const status = columnNumber(row, 'status') ?? enabledToken;
  const expiry = columnNumber(row, 'expired_time') ?? never;
  return {
    id: columnText(row, 'id'),
    ownerId,
    name: clipped(columnText(row, 'name'), 200),
    // The programs take a secret with and without the prefix.
    secret: { plain: plain.length >= 20 ? [`sk-${plain}`, plain] : [`sk-${plain}`] },
    enabled: status !== disabledToken && !(status === expiredToken && expiry === never),
    expiresAt: expiry === never ? null : Math.max(0, expiry),
    budget: budget === null ? null : Math.max(0, budget),
    budgetDaily: null,
    budgetMonthly: null,
    models: modelsOf(row),
    ipRanges: rangesOf(row, (text) => {
      const sentence = `allows the address ${text.slice(0, 100)}, which is none: it is left out of the list.`;
      installation.notices.push({ kind: 'check', subject, sentence });
    }),
    rpm: null,
    inFlightMax: null,
    metadata: metadataOf({ group: columnText(row, 'group'), used_quota: columnText(row, 'used_quota') }),
  };
}

/** new-api has a switch and a list, which may be empty; in one-api an empty list allows every model. */
function modelsOf(row: SourceRow): string[] | null {
  if (truthOf(row, 'model_limits_enabled')) return wordsOf(columnText(row, 'model_limits'));
  const models = wordsOf(columnText(row, 'models'));
  return models.length > 0 ? models : null;
}

/** A list of which no entry can be read allows no address: a limit is never lost. */
function rangesOf(row: SourceRow, isNone: (text: string) => void): string[] | null {
  const words = wordsOf(`${columnText(row, 'subnet')}\n${columnText(row, 'allow_ips')}`);
  if (words.length === 0) return null;
  return words.flatMap((word) => {
    const range = toCidr(word);
    if (range === null) isNone(word);
    return range ?? [];
  });
}
