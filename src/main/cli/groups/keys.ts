import type { Command } from 'commander';
import { z } from 'zod';
import { createKey } from '../../../commands/projects/create-key.ts';
import { revokeKey } from '../../../commands/projects/revoke-key.ts';
import { rotateKey } from '../../../commands/projects/rotate-key.ts';
import { setKey } from '../../../commands/projects/set-key.ts';
import { listModels } from '../../../db/models.ts';
import { listKeys } from '../../../db/keys.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { cleared, count, limit, moment, names, shortText, smallCount } from '../input.ts';
import { jsonRow } from '../json-row.ts';
import { database, databaseAndSecrets, type DatabaseDeps, type SecretsDeps } from '../operator-deps.ts';
import { clean, facts, limited, table, time } from '../plain-text.ts';

/** `tollgate keys …`: API keys and their limits. */
export function registerKeys(root: Command, invocation: Invocation): void {
  const group = root.command('keys').description('API keys and their limits');
  defineCommand(group, 'create', invocation, {
    summary: 'create a key and show its secret, this once',
    usage: (command) =>
      command
        .requiredOption('--project <id>', 'project that pays')
        .option('--name <name>', 'display name')
        .option('--models <ids>', 'allow only these models, as a,b (default: all)')
        .option('--rpm <requests>', 'allow this many POST requests in any 60 seconds (default: unlimited)')
        .option('--budget <credits>', 'allow this many credits over its lifetime (default: unlimited)')
        .option('--in-flight <requests>', 'allow this many tasks and chats at once (default: the limit of its project)')
        .option('--expires <time>', 'expire at 2030-01-31, 2030-01-31T12:00:00Z, or after 12h, 30d (default: never)'),
    input: CreateInput,
    needs: databaseAndSecrets,
    run: create,
  });
  defineCommand(group, 'list', invocation, {
    summary: 'list keys with their limits and usage, without secrets',
    usage: (command) =>
      command
        .option('--project <id>', 'show only this project')
        .option('--limit <rows>', 'show at most this many rows (default: 1000)'),
    input: z.object({ project: shortText.optional(), limit: limit(1_000) }),
    needs: database,
    run: list,
  });
  defineCommand(group, 'set', invocation, {
    summary: 'change the limits of a key; `none` removes a limit',
    usage: (command) =>
      command
        .argument('<id>', 'key id, such as key_…')
        .option('--name <name>', 'display name')
        .option('--models <ids>', 'allow only these models, as a,b; none allows all')
        .option('--rpm <requests>', 'allow this many POST requests in any 60 seconds, or none')
        .option(
          '--budget <credits>',
          'allow this many credits over its lifetime, including those already spent, or none',
        )
        .option('--in-flight <requests>', 'allow this many tasks and chats at once, or none')
        .option('--expires <time>', 'expire at 2030-01-31, 2030-01-31T12:00:00Z, after 12h, 30d, or none'),
    input: SetInput,
    needs: database,
    run: set,
  });
  defineCommand(group, 'rotate', invocation, {
    summary: 'give a key a new secret and show it, this once; the old secret works for 24 more hours',
    usage: (command) => command.argument('<id>', 'key id, such as key_…'),
    input: z.object({ id: shortText }),
    needs: databaseAndSecrets,
    run: rotate,
  });
  defineCommand(group, 'revoke', invocation, {
    summary: 'revoke a key at once and permanently',
    usage: (command) => command.argument('<id>', 'key id, such as key_…'),
    input: z.object({ id: shortText }),
    needs: database,
    run: revoke,
  });
}

const CreateInput = z.object({
  project: shortText,
  name: shortText.optional(),
  models: names.optional(),
  rpm: smallCount.optional(),
  budget: count(0).optional(),
  inFlight: smallCount.optional(),
  expires: moment.optional(),
});

async function create(deps: SecretsDeps, input: z.infer<typeof CreateInput>, actor: string): Promise<Report> {
  const { keyId, apiKey } = await createKey(deps, {
    projectId: input.project,
    name: input.name ?? '',
    models: input.models ?? null,
    rpm: input.rpm ?? null,
    budget: input.budget ?? null,
    inFlightMax: input.inFlight ?? null,
    expiresAt: input.expires ?? null,
    actor,
  });
  const warnings = await oddities(deps, { models: input.models, expires: input.expires });
  return {
    document: { key_id: keyId, api_key: apiKey, ...(warnings.length > 0 && { warnings }) },
    text: [
      `Created a key of ${input.project}. Store its secret now: it is not shown again.\n`,
      facts({ key_id: keyId, api_key: apiKey }),
      ...warnings.map((warning) => `\nWarning: ${clean(warning)}`),
    ].join('\n'),
  };
}

/** Warns about values that are allowed but may be a mistake. A model may be added later, and a test may want an expired key. */
async function oddities(
  { db }: DatabaseDeps | SecretsDeps,
  input: { models?: string[] | null | undefined; expires?: Date | null | undefined },
): Promise<string[]> {
  const known = input.models ? (await listModels(db)).map(({ model }) => model.id) : [];
  const unknown = input.models?.filter((id) => !known.includes(id)) ?? [];
  return [
    ...(unknown.length > 0
      ? [`The catalog has no ${unknown.join(', ')}; it has ${known.length > 0 ? known.join(', ') : 'no models yet'}.`]
      : []),
    ...(input.expires && input.expires.getTime() <= Date.now() ? ['The key has already expired.'] : []),
  ];
}

const SetInput = z.object({
  id: shortText,
  name: shortText.optional(),
  models: cleared(names).optional(),
  rpm: cleared(smallCount).optional(),
  budget: cleared(count(0)).optional(),
  inFlight: cleared(smallCount).optional(),
  expires: cleared(moment).optional(),
});

async function set(deps: DatabaseDeps, input: z.infer<typeof SetInput>, actor: string): Promise<Report> {
  const { id, name, models, rpm, budget, inFlight, expires } = input;
  const changes = { name, models, rpm, budget, inFlightMax: inFlight, expiresAt: expires };
  const limits = await setKey(deps, {
    keyId: id,
    changes: Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)),
    actor,
  });
  const about = {
    key_id: id,
    name: limits.name,
    models: limits.models,
    rpm: limits.rpm,
    budget: limits.budget,
    in_flight_max: limits.inFlightMax,
    expires_at: limits.expiresAt === null ? null : Math.floor(limits.expiresAt.getTime() / 1000),
  };
  const warnings = await oddities(deps, { models, expires });
  const shown = { ...about, models: about.models?.join(',') ?? 'all', expires_at: time(about.expires_at) };
  return {
    document: { ...about, ...(warnings.length > 0 && { warnings }) },
    text: [`Changed ${id}.\n`, facts(shown), ...warnings.map((warning) => `\nWarning: ${clean(warning)}`)].join('\n'),
  };
}

async function rotate(deps: SecretsDeps, { id }: { id: string }, actor: string): Promise<Report> {
  const { keyId, apiKey, previousUntil } = await rotateKey(deps, { keyId: id, actor });
  return {
    document: { key_id: keyId, api_key: apiKey, previous_until: previousUntil },
    text: [
      `Gave ${keyId} a new secret. Store it now: it is not shown again.\n`,
      facts({ key_id: keyId, api_key: apiKey, previous_until: time(previousUntil) }),
    ].join('\n'),
  };
}

async function list({ db }: DatabaseDeps, input: { project?: string | undefined; limit: number }): Promise<Report> {
  const rows = await listKeys(db, input.project ?? null, input.limit);
  const text = table(
    rows.map((row) => ({
      key_id: row.keyId,
      project_id: row.projectId,
      name: row.name,
      state: row.state,
      secret: row.prefix === null ? null : `${row.prefix}…${row.last4 ?? ''}`,
      models: row.models?.join(',') ?? 'all',
      rpm: row.rpm,
      in_flight: row.inFlightMax === null ? row.inFlight : `${row.inFlight} of ${row.inFlightMax}`,
      budget: row.budget,
      spent: row.spent,
      reserved: row.reserved,
      expires_at: time(row.expiresAt),
      last_used_at: time(row.lastUsedAt),
    })),
    'There are no keys.',
  );
  return { document: { data: rows.map(jsonRow) }, text: limited(text, rows, input.limit) };
}

async function revoke(deps: DatabaseDeps, { id }: { id: string }, actor: string): Promise<Report> {
  const { keyId, revokedAt, changed } = await revokeKey(deps, { keyId: id, actor });
  const at = time(revokedAt) ?? '';
  return {
    document: { key_id: keyId, revoked_at: revokedAt, changed },
    text: changed ? `Revoked ${keyId}.` : `${keyId} was already revoked at ${at}. Nothing changed.`,
  };
}
