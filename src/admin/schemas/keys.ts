import { z } from 'zod';
import { timestamp, timestampOrNull } from '../../schemas/time.ts';
import { keyStates } from '../../db/projects/keys.ts';
import { scopes } from '../../domain/projects/scope.ts';
import { changed, warnings } from './changed.ts';
import { keyId, projectId } from './ids.ts';

/** What an operator may change. Null means no limit. */
const limits = {
  name: z.string(),
  metadata: z.record(z.string(), z.string()),
  scopes: z.array(z.enum(scopes)),
  ip_ranges: z.array(z.string()).nullable().describe('The addresses that may use the key, as CIDRs. Null: any.'),
  models: z.array(z.string()).nullable().describe('Null: every model.'),
  rpm: z.int().nullable().describe('POST requests in any 60 seconds.'),
  in_flight_max: z.int().nullable().describe('Tasks and chats that may run at the same time.'),
  budget: z.int().nullable().describe('Credits over its lifetime.'),
  budget_daily: z.int().nullable().describe('Credits each day, UTC.'),
  budget_monthly: z.int().nullable().describe('Credits each month, UTC.'),
  expires_at: timestampOrNull,
};

/** A key without its secret. */
export const Key = z
  .object({
    key_id: keyId,
    project_id: projectId,
    state: z.enum(keyStates),
    playground: z
      .boolean()
      .describe('Whether it is a key of the playground, whose limits and secret cannot be changed.'),
    prefix: z.string().nullable().describe('The first characters of the newest secret.'),
    last4: z.string().nullable(),
    ...limits,
    in_flight: z.int().describe('Tasks and chats that run.'),
    spent: z.int(),
    reserved: z.int(),
    used_today: z.int().describe('Spent and reserved by the requests of this day, UTC.'),
    used_this_month: z.int(),
    revoked_at: timestampOrNull,
    last_used_at: timestampOrNull,
    created_at: timestamp,
  })
  .meta({ id: 'Key' });

/** A key with what its own page shows beside. */
export const ShownKey = Key.extend({
  project_name: z.string(),
  requests: z
    .int()
    .nullable()
    .describe('POST requests of the last 60 seconds. Null without a limit: they are not counted.'),
  created_by: z.string().nullable().describe('Who created it. Null if the audit log does not have it.'),
}).meta({ id: 'ShownKey' });

const apiKey = z.string().meta({ description: 'The secret, which is shown only here.', examples: ['sk-…'] });

export const CreatedKey = z.object({ key_id: keyId, api_key: apiKey, warnings }).meta({ id: 'CreatedKey' });

export const KeyLimitsSchema = z.object({ key_id: keyId, ...limits, warnings }).meta({ id: 'KeyLimits' });

export const RotatedKey = z
  .object({
    key_id: keyId,
    api_key: apiKey,
    previous_until: timestamp.describe('Unix seconds: until then the previous secret works as well.'),
  })
  .meta({ id: 'RotatedKey' });

export const RevokedKey = z.object({ key_id: keyId, revoked_at: timestamp, changed }).meta({ id: 'RevokedKey' });
