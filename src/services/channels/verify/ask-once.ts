import type { Adapter, MediaRequest, ProviderRef, Upstream } from '../../../adapters/channel.ts';
import { noteMappingSuccess } from '../../../db/channels/channel-mappings.ts';
import { noteChannelSuccess, type ChannelRow } from '../../../db/channels/channels.ts';
import type { Deps } from '../../../deps.ts';
import { cheapestRequest, type CheapestRequest } from '../../../domain/tasks/cheapest-request.ts';
import { billedTokens, chatHold, settledUsage } from '../../../domain/chat/chat-hold.ts';
import { toUpstreamChat } from '../../../domain/chat/chat.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { ServedMapping } from '../../../domain/catalog/listed-models.ts';
import type { TaskType } from '../../../domain/tasks/task.ts';
import { mayBeBilled, type UpstreamOutput } from '../../../domain/channels/upstream.ts';
import { chatCost } from '../../../domain/catalog/upstream-cost.ts';
import { fittingOutputs } from '../../../domain/tasks/fitting-outputs.ts';
import { mapParameters, upstreamModel } from '../../../domain/catalog/upstream-parameters.ts';
import { newId } from '../../../platform/crypto/ids.ts';
import { pause } from '../../../platform/pause.ts';
import { discardFiles } from '../../files/discard-files.ts';
import { copyOutputs, planCopies } from '../../tasks/attempt/copy-outputs.ts';
import { providerJobEnd } from '../../tasks/attempt/provider-job-end.ts';
import { unsealCredential } from '../unseal-credential.ts';

export type VerifyDeps = Pick<Deps, 'config' | 'db' | 'sealer' | 'adapters' | 'egress' | 'files' | 'logger'>;

/** What one real call came to. */
export interface LiveCallResult {
  outcome: 'ok' | 'failed';
  /** The class of a failure, as on attempts. */
  reason: string | null;
  /** The provider's words about a failure. */
  detail: string | null;
  tookMs: number;
  /** Tokens of a chat. */
  usage: { input: number; output: number } | null;
  /** The pictures or clips, in pixels, seconds and bytes. */
  outputs: readonly { width: number | null; height: number | null; duration: number | null; bytes: number }[];
  /** By the cost rules of the catalog: 0 if nothing was bought, the most that it may be if it is unknown. */
  costMicroUsd: number;
}

type Came = Omit<LiveCallResult, 'tookMs'>;
type Ask = Exclude<CheapestRequest, { kind: 'none' }> & { shown: JsonObject };

/** The cheapest request of a mapping, with the parameters that a report shows. */
export function askable({ entry, mapping }: ServedMapping): Ask | Extract<CheapestRequest, { kind: 'none' }> {
  const ask = cheapestRequest(entry, mapping);
  if (ask.kind === 'none') return ask;
  return { ...ask, shown: ask.kind === 'chat' ? { max_tokens: ask.request.maxTokens } : ask.input };
}

/** At `callsEndAt`, by `performance.now()`, the wait for results ends. */
type LiveDeps = VerifyDeps & { callsEndAt: number };

/** Makes one real request and waits for its results, which are measured and deleted. Never rejects. */
export async function askOnce(
  deps: LiveDeps,
  channel: ChannelRow,
  served: ServedMapping,
  ask: Ask,
): Promise<LiveCallResult> {
  const startedAt = performance.now();
  const came = await call(deps, channel, served, ask).catch((error: unknown): Came => {
    deps.logger.warn({ err: error, channel: channel.name, model: served.entry.model.id }, 'a model was not verified');
    return failed('output', 'an error of the gateway ended this call: see the log', ask.costMax);
  });
  const tookMs = Math.round(performance.now() - startedAt);
  if (came.outcome === 'ok') {
    const success = { channelId: channel.id, modelId: served.entry.model.id, ageSeconds: tookMs / 1000 };
    const noted = Promise.all([noteMappingSuccess(deps.db, success), noteChannelSuccess(deps.db, success)]);
    // The report says what was bought all the same.
    await noted.catch((error: unknown) =>
      deps.logger.warn({ err: error, channel: channel.name }, 'the success of a verified model was not noted'),
    );
  }
  return { ...came, tookMs };
}

const failed = (reason: string, detail: string, costMicroUsd: number): Came => ({
  outcome: 'failed',
  reason,
  detail,
  usage: null,
  outputs: [],
  costMicroUsd,
});

async function call(deps: LiveDeps, channel: ChannelRow, { entry, mapping }: ServedMapping, ask: Ask): Promise<Came> {
  const adapter = deps.adapters[channel.adapter];
  const credential = unsealCredential(deps.sealer, channel);
  const upstream = { channelId: channel.id, baseUrl: channel.baseUrl, credential, requestId: newId('req') };
  if (ask.kind === 'media') {
    const request: MediaRequest = {
      type: entry.model.type === 'video' ? 'video' : 'image',
      model: upstreamModel(mapping, ask.input),
      prompt: typeof ask.input['prompt'] === 'string' ? ask.input['prompt'] : '',
      parameters: mapParameters(mapping, ask.input),
      idempotencyKey: newId('att'),
      ...(mapping.inputs && { inputNames: mapping.inputs }),
    };
    return adapter ? makeMedia(deps, adapter, upstream, request, ask.costMax) : failed('rejected', noAdapter, 0);
  }
  if (!adapter?.chat) return failed('rejected', noAdapter, 0);
  const timeoutMs = deps.config.chat.attemptTimeoutSeconds * 1000;
  const reply = await adapter.chat(upstream, toUpstreamChat(ask.request, mapping), { timeoutMs, headersMs: timeoutMs });
  if (reply.kind !== 'ok') {
    return failed(reply.errorClass, reply.detail, mayBeBilled(reply.errorClass) ? ask.costMax : 0);
  }
  const usage = settledUsage(reply.value, chatHold(ask.request, 0));
  const cost = chatCost(mapping.cost, billedTokens(reply.value, usage));
  return { ...succeeded, usage: { input: usage.input, output: usage.output }, costMicroUsd: cost };
}

const noAdapter = 'the family of the channel cannot make this request';
const succeeded = { outcome: 'ok', reason: null, detail: null, usage: null, outputs: [] } as const;

async function makeMedia(
  deps: LiveDeps,
  adapter: Adapter,
  upstream: Upstream,
  request: MediaRequest,
  cost: number,
): Promise<Came> {
  const { config } = deps;
  const { type } = request;
  const secondsMax = type === 'video' ? config.tasks.videoDeadlineSeconds : config.tasks.imageDeadlineSeconds;
  const seconds = Math.min(secondsMax, Math.ceil((deps.callsEndAt - performance.now()) / 1000));
  const deadline = performance.now() + seconds * 1000;
  const remainingMs = () => Math.max(1, deadline - performance.now());
  if (!adapter.submitMedia) return failed('rejected', noAdapter, 0);
  const signal = AbortSignal.timeout(Math.ceil(remainingMs()));
  const submitted = await adapter.submitMedia(upstream, request, { signal });
  if (submitted.kind !== 'ok' && submitted.kind !== 'done') {
    return failed(submitted.errorClass, submitted.detail, submitted.kind === 'unknown' ? cost : 0);
  }
  const outputs =
    submitted.kind === 'done'
      ? submitted.outputs
      : await pollToEnd(deps, adapter, upstream, submitted.value, { signal, seconds });
  // A job that the provider accepted may be billed, however it ends.
  if (!Array.isArray(outputs)) return failed(outputs.reason, outputs.detail, cost);
  const headers = adapter.outputHeaders?.(upstream);
  const { kept } = fittingOutputs(outputs, type);
  const input = { type, outputs: kept, baseUrl: upstream.baseUrl, remainingMs, signal, ...(headers && { headers }) };
  return measure(deps, input, cost);
}

/** Polls an accepted job until it ends or `signal` fires. */
async function pollToEnd(
  { config }: VerifyDeps,
  adapter: Adapter,
  upstream: Upstream,
  providerRef: ProviderRef,
  { signal, seconds }: { signal: AbortSignal; seconds: number },
): Promise<UpstreamOutput[] | { reason: string; detail: string }> {
  const { pollIntervalMinMs, pollIntervalMaxMs } = config.attempts;
  let waitMs = pollIntervalMinMs;
  while (!signal.aborted) {
    await pause(waitMs, signal);
    const polled = await adapter.pollMedia?.(upstream, providerRef, { signal });
    if (!polled) return { reason: 'job_lost', detail: noAdapter };
    if (polled.kind === 'done') return polled.outputs;
    if (polled.kind === 'failed' || polled.kind === 'refused')
      return { reason: providerJobEnd(polled).errorClass, detail: polled.detail };
    waitMs = Math.min(waitMs * 1.3, pollIntervalMaxMs);
  }
  return { reason: 'deadline', detail: `the job did not end within ${seconds} s` };
}

interface Measured {
  type: TaskType;
  outputs: UpstreamOutput[];
  baseUrl: string;
  headers?: Record<string, string>;
  remainingMs: () => number;
  signal: AbortSignal;
}

/** Copies the results as a task does, which checks and measures them, and deletes the copies. */
async function measure(
  deps: VerifyDeps,
  { type, outputs, baseUrl, headers, remainingMs, signal }: Measured,
  cost: number,
): Promise<Came> {
  const copies = planCopies({ attemptId: newId('att'), fence: newId('att') }, outputs);
  const copied = await copyOutputs(deps, {
    taskId: 'channels verify',
    type,
    copies,
    channelBaseUrl: baseUrl,
    ...(headers && { channelHeaders: headers }),
    remainingMs,
    signal,
  });
  if (copied.kind !== 'copied') {
    return failed('output', copied.kind === 'failed' ? copied.detail : 'the results were not fetched in time', cost);
  }
  await discardFiles(
    deps,
    copies.map(({ draft }) => draft),
  );
  const measured = copied.files.map(({ width, height, duration, bytes }) => ({ width, height, duration, bytes }));
  return { ...succeeded, outputs: measured, costMicroUsd: cost };
}
