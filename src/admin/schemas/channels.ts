import { z } from 'zod';
import { timestamp, timestampOrNull } from '../../schemas/time.ts';
import { changed, warnings } from './changed.ts';
import { channelId } from './ids.ts';

const settings = {
  channel_id: channelId,
  name: z.string(),
  adapter: z.string().describe('The provider family.'),
  base_url: z.string(),
  groups: z.array(z.string()).describe('Serves the models in these groups of the catalog.'),
  priority: z.int().describe('Lower numbers are tried first.'),
  weight: z.int().describe('The share among channels of one priority. 0 is never drawn.'),
  list_check: z.boolean().describe("Whether a model that the provider's list lacks is not drawn."),
};

const reasonKinds = ['open', 'half_open', 'resting', 'alarm', 'not_drawn'] as const;

const ReasonSchema = z
  .object({
    kind: z
      .enum(reasonKinds)
      .describe(
        [
          '`open`: the circuit breaker is tripped.',
          '`half_open`: the next call is the probe.',
          '`resting`: it cools down after a 429 or an account error, or the provider does not know the model.',
          '`alarm`: it needs an operator, until a call succeeds.',
          "`not_drawn`: the provider's list lacks the model.",
        ].join(' '),
      ),
    model: z.string().describe('`*` for all models.'),
    reason: z.string().nullable(),
    since: timestampOrNull,
    until: timestampOrNull,
    failures: z.int().describe('Failures in a row since the last trip.'),
    opens: z.int().describe('Trips since the last success. Each one lasts longer.'),
  })
  .meta({ id: 'ChannelReason' });

const limitNames = ['rpm', 'tpm', 'parallel'] as const;

const ChannelLimitsSchema = z
  .object({
    rpm: z.int().nullable().describe('Requests in a minute. Null: no limit.'),
    tpm: z.int().nullable().describe('Tokens in a minute, of chats.'),
    parallel: z.int().nullable().describe('Calls and jobs at the same time.'),
    used: z
      .object({ rpm: z.int(), tpm: z.int(), parallel: z.int() })
      .describe('What counts now. Calls are counted only while there is a limit.'),
    not_drawn: z.enum(limitNames).nullable().describe('The limit that is reached, so that it is not drawn.'),
    until: timestampOrNull.describe(
      'When it may be called again; while `parallel` is reached, when it is asked again.',
    ),
  })
  .meta({ id: 'ChannelLimits' });

const ChannelCredentialSchema = z
  .object({
    id: z.string(),
    last4: z.string().nullable().describe('The last characters of the secret, if they are known.'),
    state: z
      .enum(['ready', 'resting', 'alarm'])
      .describe(
        '`resting`: it cools down after a 429 or an account error. `alarm`: it needs an operator, until a call succeeds.',
      ),
    reason: z.string().nullable(),
    since: timestampOrNull,
    until: timestampOrNull,
    limits: ChannelLimitsSchema,
  })
  .meta({ id: 'ChannelCredential' });

/** A channel without the secrets of its credentials. */
export const ChannelSchema = z
  .object({
    ...settings,
    enabled: z.boolean(),
    state: z.enum(['ready', 'disabled', ...reasonKinds]).describe('The most serious of its `reasons`.'),
    reasons: z.array(ReasonSchema).describe('Why it, or one of its models, is not available or needs an operator.'),
    credentials: z
      .array(ChannelCredentialSchema)
      .describe('The oldest first. Calls use those that are not resting in turn; while all are, so is the channel.'),
    limits: ChannelLimitsSchema,
    created_at: timestamp,
  })
  .meta({ id: 'Channel' });

export const ChannelSettings = z
  .object({
    ...settings,
    credential_id: z.string().describe('The id of the credential that was added.').optional(),
    warnings,
  })
  .meta({ id: 'ChannelSettings' });

export const SwitchedChannel = z
  .object({ channel_id: channelId, name: z.string(), enabled: z.boolean(), changed })
  .meta({ id: 'SwitchedChannel' });

/** What the adapter's free call came to. */
const call = {
  ok: z.boolean(),
  offered: z.boolean().describe('False if the adapter has no call that costs nothing.'),
  reason: z.string().nullable().describe('The class of the failure.'),
  status: z.int().nullable().describe("The provider's HTTP status, if it answered."),
  detail: z.string().nullable().describe("The provider's own words."),
  took_ms: z.int(),
};

export const TestedChannel = z
  .object({ channel_id: channelId, name: z.string(), adapter: z.string(), ...call })
  .meta({ id: 'TestedChannel' });

const PointSchema = z
  .object({
    at: timestamp.describe('The beginning of the minute or hour, in unix seconds.'),
    attempts: z.int(),
    ok: z.int(),
    refused: z.int().describe('The provider refused the request itself. Says nothing about the channel.'),
    transient: z.int(),
    unknown: z.int(),
    p50_ms: z.number().nullable().describe('Of the successful ones, to 5 %. Null if there was none.'),
    p95_ms: z.number().nullable(),
  })
  .meta({ id: 'HistoryPoint' });

export const ChannelHistorySchema = z
  .object({
    channel_id: channelId,
    name: z.string(),
    hours: z.int(),
    bucket_seconds: z.int().describe('60 up to three hours, else 3,600.'),
    data: z.array(PointSchema).describe('One for each minute or hour, oldest first. The last one has just begun.'),
  })
  .meta({ id: 'ChannelHistory' });

const upstreamList = z
  .object({
    state: z.enum(['complete', 'incomplete', 'not_offered', 'failed']),
    names: z.int(),
    detail: z.string().nullable(),
  })
  .describe("The provider's list of models.");

/** A model of the catalog at a provider. */
const servedModel = {
  model: z.string(),
  type: z.enum(['chat', 'image', 'video']),
  upstream: z.array(z.string()).describe("The provider's names of the model."),
  listed: z.boolean().nullable().describe('Null if there is no complete list.'),
};

export const ProbedProvider = z
  .object({
    adapter: z.string(),
    ok: z.boolean(),
    call: z.object(call),
    list: upstreamList,
    data: z
      .array(z.object(servedModel))
      .describe('The models of the catalog that a channel with these groups would serve.'),
  })
  .meta({ id: 'ProbedProvider' });

const request = z.record(z.string(), z.unknown()).describe('The parameters of the cheapest request.');
const LiveCall = z.union([
  z.object({ request, outcome: z.literal('not_asked'), detail: z.string().describe('Why.') }),
  z.object({
    request,
    outcome: z.enum(['ok', 'failed']),
    reason: z.string().nullable(),
    detail: z.string().nullable(),
    took_ms: z.int(),
    usage: z.object({ input: z.int(), output: z.int() }).nullable().describe('The tokens of a chat.'),
    outputs: z.array(
      z.object({
        width: z.number().nullable(),
        height: z.number().nullable(),
        duration: z.number().nullable(),
        bytes: z.int(),
      }),
    ),
    cost_micro_usd: z.int(),
  }),
]);

export const VerifiedChannel = z
  .object({
    channel_id: channelId,
    name: z.string(),
    adapter: z.string(),
    ok: z.boolean(),
    call: z.object(call),
    list: upstreamList,
    live: z.boolean().describe('Whether real calls were made.'),
    spent_micro_usd: z.int().describe('What the real calls cost at most.'),
    data: z.array(
      z.object({
        ...servedModel,
        drawn: z.boolean().describe('False while the channel is not drawn for this model.'),
        verified: z
          .object({ source: z.string(), on: z.string() })
          .nullable()
          .describe("Where and when the mapping was last checked against the provider's documents."),
        live: LiveCall.nullable(),
        ok: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'VerifiedChannel' });
