import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { createKey } from '../../services/projects/create-key.ts';
import { revokeKey } from '../../services/projects/revoke-key.ts';
import { rotateKey } from '../../services/projects/rotate-key.ts';
import { setKey } from '../../services/projects/set-key.ts';
import { demand } from '../../services/operator-error.ts';
import { listModels } from '../../db/catalog/models.ts';
import { findKey, keyColumns, keyStates, listKeys, type KeyRow } from '../../db/projects/keys.ts';
import type { Deps } from '../../deps.ts';
import { isAllowed, isModelGlob, listedNamesOf } from '../../domain/catalog/model-names.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { isPlausibleApiKey } from '../../platform/crypto/api-key.ts';
import { CreatedKey, Key, KeyLimitsSchema, RevokedKey, RotatedKey, ShownKey } from '../schemas/keys.ts';
import { flag, group, option, action, readFrom } from '../define-action.ts';
import {
  cleared,
  intFrom,
  ipRanges,
  metadataPairs,
  moment,
  nameList,
  scopeNames,
  shortText,
  smallCount,
  text,
} from '../input.ts';
import { listInput, listRequest } from '../list-input.ts';
import { factText, time } from '../plain-text.ts';
import { factsReport, jsonRow, listReport } from '../report.ts';
import { shownCredits } from '../shown-credits.ts';

/** `tollgate keys …`: API keys and their limits. */
export const keyActions = group('API keys and their limits', () => ({ create, list, show, set, rotate, revoke }));

/** A shorter one could be guessed. */
const secretCharsMin = 20;

const importedSecret = text()
  .refine((secret) => secret.startsWith('sk-'), 'must begin with sk-')
  .refine((secret) => secret.length >= secretCharsMin, `must have at least ${secretCharsMin} characters`)
  .refine(isPlausibleApiKey, 'must be at most 512 printable ASCII characters without spaces');

const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null);

const budget = intFrom(0);

const create = action({
  summary: 'create a key and show its secret, this once',
  input: {
    project: option('<id>', shortText).describe('project that pays'),
    name: option('<name>', shortText.default('')).describe('display name'),
    metadata: option('<pairs>', metadataPairs.exactOptional()).describe('notes of yours, as team=ads,env=test or JSON'),
    scopes: option('<names>', scopeNames.exactOptional()).describe(
      'what the key may do: some of chat,media,read (default: all)',
    ),
    ip: option('<ranges>', orNull(ipRanges)).describe(
      'accept the key only from these addresses, as 203.0.113.0/24,2001:db8::1 (default: any)',
    ),
    models: option('<ids>', orNull(nameList)).describe(
      'allow only these models, as a,b; a glob such as gpt-* also allows models to come (default: all)',
    ),
    rpm: option('<requests>', cleared(smallCount)).describe(
      'allow this many POST requests in any 60 seconds, or none (default: KEY_RPM_DEFAULT, else unlimited)',
    ),
    budget: option('<credits>', orNull(budget)).describe(
      'allow this many credits over its lifetime (default: unlimited)',
    ),
    budgetDaily: option('<credits>', orNull(budget)).describe(
      'allow this many credits each day, UTC (default: unlimited)',
    ),
    budgetMonthly: option('<credits>', orNull(budget)).describe(
      'allow this many credits each month, UTC (default: unlimited)',
    ),
    inFlight: option('<requests>', cleared(smallCount)).describe(
      'allow this many tasks and chats in flight, or none (default: KEY_IN_FLIGHT_DEFAULT, else the limit of its project)',
    ),
    expires: option('<time>', orNull(moment)).describe(
      'expire at 2030-01-31, 2030-01-31T12:00:00Z, or after 12h, 30d (default: never)',
    ),
    secret: readFrom('secret', option('<secret>', importedSecret.exactOptional())).describe(
      'take this secret, such as that of a key of another gateway; - reads it from stdin (default: a new one)',
    ),
  },
  example: {
    project: 'prj_01ky4m8r5t0v2x6z9b3d7f1h4k',
    name: 'web',
    scopes: ['chat', 'media'],
    rpm: 600,
    budget_monthly: 50_000,
  },
  route: { method: 'POST', path: '/keys', role: 'owner' },
  answer: CreatedKey,
  refusals: ['not_found', 'action_refused'],
  needs: 'secrets',
  async run(deps, { project: projectId, inFlight, expires: expiresAt, ip, secret, ...limits }, actor) {
    await demandExistingModels(deps, limits.models);
    const { keyId, apiKey } = await createKey(deps, {
      projectId,
      ...limits,
      ipRanges: ip,
      ...(inFlight !== undefined && { inFlightMax: inFlight }),
      expiresAt,
      ...(secret !== undefined && { apiKey: secret }),
      actor,
    });
    return factsReport(
      secret === undefined
        ? `Created a key of ${projectId}. Store its secret now: it is not shown again.`
        : `Created a key of ${projectId} with the given secret.`,
      { key_id: keyId, api_key: apiKey },
      { warnings: await oddities(deps, limits.models, expiresAt) },
    );
  },
});

const list = action({
  summary: 'list keys with their limits and usage, without secrets',
  input: {
    project: option('<id>', shortText.optional()).describe('show only this project'),
    state: option('<state>', z.enum(keyStates).optional()).describe('show only keys in this state'),
    q: option('<text>', shortText.optional()).describe(
      'show only keys with this in their name or id, in any case, or with these last four characters',
    ),
    ...listInput('keys', keyColumns, { rows: 1_000 }),
  },
  route: { method: 'GET', path: '/keys', role: 'viewer' },
  answer: listOf(Key),
  needs: 'database',
  async run(deps, { project: projectId, state, q, ...page }) {
    const rows = await listKeys(deps.db, { projectId, state, q }, listRequest(page));
    const shown = await shownCredits(deps);
    return listReport(rows, (row) => keyLine(row, shown), {
      list: 'keys',
      nothing: 'There are no keys.',
      toDocument: jsonRow,
    });
  },
});

const keyLine = (row: KeyRow, shown: (credits: number) => string) => ({
  key_id: row.keyId,
  project_id: row.projectId,
  name: row.name,
  state: row.state,
  secret: row.prefix === null ? null : `${row.prefix}…${row.last4 ?? ''}`,
  scopes: row.scopes.join(','),
  ip: row.ipRanges?.join(',') ?? 'any',
  models: row.models?.join(',') ?? 'all',
  rpm: row.rpm,
  in_flight: row.inFlightMax === null ? row.inFlight : `${row.inFlight} of ${row.inFlightMax}`,
  budget: row.budget && shown(row.budget),
  spent: shown(row.spent),
  reserved: shown(row.reserved),
  today: ofBudget(shown(row.usedToday), row.budgetDaily),
  month: ofBudget(shown(row.usedThisMonth), row.budgetMonthly),
  expires_at: time(row.expiresAt),
  last_used_at: time(row.lastUsedAt),
});

const ofBudget = (used: string, budget: number | null): string =>
  budget === null ? used : `${used}, of ${budget.toLocaleString('en')}`;

const id = shortText.describe('key id, such as key_…');

const show = action({
  summary: 'show a key with its limits, their use and who created it, without its secret',
  input: { id },
  route: { method: 'GET', path: '/keys/:id', role: 'viewer', resource: 'key' },
  answer: ShownKey,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { id: keyId }) {
    const key = demand(await findKey(deps.db, keyId), `key ${keyId}`);
    const { createdBy: created_by, createdAt, requests, metadata } = key;
    const about = {
      ...keyLine(key, await shownCredits(deps)),
      requests,
      metadata,
      created_at: time(createdAt),
      created_by,
    };
    return { document: jsonRow(key), text: factText(about) };
  },
});

const set = action({
  summary: 'change the limits of a key; `none` removes a limit',
  input: {
    id,
    name: option('<name>', shortText.exactOptional()).describe('display name'),
    metadata: option('<pairs>', cleared(metadataPairs)).describe(
      'notes of yours, as team=ads,env=test or JSON, or none',
    ),
    scopes: option('<names>', scopeNames.exactOptional()).describe('what the key may do: some of chat,media,read'),
    ip: option('<ranges>', cleared(ipRanges)).describe(
      'accept the key only from these addresses, as 203.0.113.0/24,2001:db8::1; none accepts it from any',
    ),
    models: option('<ids>', cleared(nameList)).describe(
      'allow only these models, as a,b or globs such as gpt-*; none allows all',
    ),
    rpm: option('<requests>', cleared(smallCount)).describe('allow this many POST requests in any 60 seconds, or none'),
    budget: option('<credits>', cleared(budget)).describe(
      'allow this many credits over its lifetime, including those already spent, or none',
    ),
    budgetDaily: option('<credits>', cleared(budget)).describe('allow this many credits each day, UTC, or none'),
    budgetMonthly: option('<credits>', cleared(budget)).describe('allow this many credits each month, UTC, or none'),
    inFlight: option('<requests>', cleared(smallCount)).describe('allow this many tasks and chats in flight, or none'),
    expires: option('<time>', cleared(moment)).describe(
      'expire at 2030-01-31, 2030-01-31T12:00:00Z, after 12h, 30d, or none',
    ),
  },
  example: { rpm: null, budget_daily: 2_000, expires: '2030-01-31' },
  route: { method: 'PATCH', path: '/keys/:id', role: 'operator', resource: 'key' },
  answer: KeyLimitsSchema,
  refusals: ['not_found', 'action_refused', 'version_conflict'],
  needs: 'database',
  async run(deps, { id: keyId, inFlight, expires, ip, metadata, ...same }, actor) {
    await demandExistingModels(deps, same.models);
    const limits = await setKey(deps, {
      keyId,
      changes: {
        ...same,
        ...(metadata !== undefined && { metadata: metadata ?? {} }),
        ...(ip !== undefined && { ipRanges: ip }),
        ...(inFlight !== undefined && { inFlightMax: inFlight }),
        ...(expires !== undefined && { expiresAt: expires }),
      },
      actor,
    });
    return factsReport(
      `Changed ${keyId}.`,
      { key_id: keyId, ...jsonRow(limits) },
      {
        shown: {
          ip_ranges: limits.ipRanges?.join(',') ?? 'any',
          models: limits.models?.join(',') ?? 'all',
          expires_at: time(limits.expiresAt),
        },
        warnings: await oddities(deps, same.models, expires),
      },
    );
  },
});

/** Refuses a name that no model of the catalog has. While there is no catalog yet, nothing is known of its names. */
async function demandExistingModels({ db }: Pick<Deps, 'db'>, models: string[] | null = null): Promise<void> {
  const entries = models ? await listModels(db) : [];
  if (entries.length === 0) return;
  const unknown = models?.find((item) => !isModelGlob(item) && !entries.some((entry) => isAllowed([item], entry)));
  if (unknown === undefined) return;
  throw new GatewayError('invalid_value', {
    param: 'models',
    message:
      `models names ${quoted(unknown)}, and no model of the catalog has this name.${didYouMean(unknown, entries.flatMap(listedNamesOf))} ` +
      'A glob such as gpt-* may name models to come.',
  });
}

/** Warns about values that are allowed but may be a mistake: a model may be added later, and a test may want an expired key. */
async function oddities(
  { db }: Pick<Deps, 'db'>,
  models: string[] | null = null,
  expires: Date | null = null,
): Promise<string[]> {
  const entries = models ? await listModels(db) : [];
  const unknown = models?.filter((model) => !entries.some((entry) => isAllowed([model], entry))) ?? [];
  return [
    ...(unknown.length > 0
      ? [
          `The catalog has no ${unknown.join(', ')}; it has ${entries.length > 0 ? entries.map(({ model }) => model.id).join(', ') : 'no models yet'}.`,
        ]
      : []),
    ...(expires && expires.getTime() <= Date.now() ? ['The key has already expired.'] : []),
  ];
}

const rotate = action({
  summary: 'give a key a new secret and show it once; the old secret works for 24 more hours',
  input: { id, now: flag().describe('end the old secret immediately, because it has leaked') },
  route: { method: 'POST', path: '/keys/:id/rotate', role: 'owner', resource: 'key' },
  answer: RotatedKey,
  refusals: ['not_found', 'action_refused', 'version_conflict'],
  needs: 'secrets',
  async run(deps, { id: keyId, now }, actor) {
    const rotated = await rotateKey(deps, { keyId, now, actor });
    return factsReport(`Gave ${keyId} a new secret. Store it now: it is not shown again.`, jsonRow(rotated), {
      shown: { previous_until: time(rotated.previousUntil) },
    });
  },
});

const revoke = action({
  summary: 'revoke a key immediately and permanently',
  input: { id },
  route: { method: 'POST', path: '/keys/:id/revoke', role: 'operator', resource: 'key' },
  answer: RevokedKey,
  refusals: ['not_found', 'version_conflict'],
  needs: 'database',
  async run(deps, { id: requestedId }, actor) {
    const revoked = await revokeKey(deps, { keyId: requestedId, actor });
    const { keyId, revokedAt, changed } = revoked;
    const at = time(revokedAt) ?? '';
    return {
      document: jsonRow(revoked),
      text: changed ? `Revoked ${keyId}.` : `${keyId} was already revoked at ${at}. Nothing changed.`,
    };
  },
});
