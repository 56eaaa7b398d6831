import { answeredAtOnce, isAnsweredAtOnce } from '../../channels/channel.ts';
import type { Adapter, MediaRequest, Operation, SubmitDone, Upstream } from '../../channels/channel.ts';
import {
  beginAttempt,
  endAttempt,
  findTaskForAttempt,
  findTaskRouting,
  markSeen,
  renewSubmit,
  saveOperation,
  saveResult,
  type AttemptEnd,
  type AttemptMemory,
  type AttemptTask,
} from '../../db/attempts.ts';
import { isCancelDue } from '../../db/cancels.ts';
import type { ChannelRow } from '../../db/channels.ts';
import type { Deps } from '../../deps.ts';
import type { UpstreamMapping } from '../../domain/catalog.ts';
import type { JsonObject } from '../../domain/json.ts';
import { isTerminal, type TaskErrorCode } from '../../domain/task.ts';
import type { Attempt, PollResult, UpstreamOutput } from '../../domain/upstream.ts';
import { mapParameters, upstreamModel } from '../../domain/upstream-parameters.ts';
import type { AttemptInput, AttemptReport } from '../../domain/workflow-contract.ts';
import { crashPoint } from '../../platform/crash-point.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { pause } from '../../platform/pause.ts';
import { copyOutputs } from './copy-outputs.ts';
import { hasMediaInputs, holdInputs, type HeldInputs } from './inputs-for-upstream.ts';
import { usableCredential } from '../channels/open-credential.ts';
import { stopUpstream } from './stop-upstream.ts';

export type AttemptDeps = Pick<
  Deps,
  'config' | 'db' | 'channels' | 'adapters' | 'sealer' | 'egress' | 'files' | 'inputMemory' | 'logger' | 'urls'
>;

/** The signals around one run of an attempt. */
export interface AttemptSignals {
  /** Nobody wants the outcome any more: the workflow was canceled or has ended. Submit ignores it, polling obeys. */
  canceled: AbortSignal;
  /** This process is going down: another one resumes. */
  shutdown: AbortSignal;
}

/** Thrown when the process is going down: never an outcome, the attempt is resumed elsewhere. */
export class AttemptInterrupted extends Error {}

/**
 * One try of a media task on one channel, from submit to stored outputs. The attempt row is its memory, written before the
 * call, so it may be run again at any point: it submits at most once, goes on polling the job that it submitted, and
 * answers an outcome that is recorded. It returns what came of it, whatever that is; it throws only when our own database
 * is away or the process is going down.
 */
export async function runAttempt(
  deps: AttemptDeps,
  input: AttemptInput,
  signals: AttemptSignals,
): Promise<AttemptReport> {
  const task = await findTaskForAttempt(deps.db, input.taskId);
  if (!task || isTerminal(task.status)) return over(deps, input.taskId);
  if (task.remainingMs <= 0) return { kind: 'deadline' };
  const opened = await openChannel(deps, task, input.channelId);
  if (!opened) return skip(deps, input);

  const run = new AttemptRun(deps, task, opened, signals);
  try {
    return (await run.awaitInputs()) ?? (await resumeOrSubmit(deps, input, run));
  } finally {
    run.letInputsGo();
  }
}

async function resumeOrSubmit(deps: AttemptDeps, input: AttemptInput, run: AttemptRun): Promise<AttemptReport> {
  const memory = await run.begin();
  // Nothing begins for a client who wants it stopped, here or on any other channel.
  if (memory === 'skipped') return { kind: (await isCancelDue(deps.db, input.taskId)) ? 'canceled' : 'skipped' };
  if (memory.outcome !== null) return recordedReport(memory);
  if (memory.result) return run.copy(memory, memory.result);
  if (memory.operation) return run.poll(memory, memory.operation);
  if (!memory.fresh) return run.lookUp(memory);
  crashPoint('after_attempt_row');
  return run.submit(memory);
}

interface OpenedChannel {
  row: ChannelRow;
  adapter: Adapter;
  upstream: Upstream;
  mapping: UpstreamMapping;
}

async function openChannel(deps: AttemptDeps, task: AttemptTask, channelId: string): Promise<OpenedChannel | null> {
  const row = await deps.channels.find(channelId);
  const adapter = row && deps.adapters[row.adapter];
  const mapping = row && task.snapshot.upstream[row.adapter];
  if (!row || !adapter?.submitMedia || !mapping) return null;
  const credential = usableCredential(deps, row);
  if (credential === null) return null;
  return {
    row,
    adapter,
    mapping,
    upstream: { channelId: row.id, baseUrl: row.baseUrl, credential, requestId: task.requestId },
  };
}

/** A channel that cannot be used is passed over, unless a call to it may have bought the job: then nobody else may buy it too. */
async function skip({ db }: AttemptDeps, { taskId, channelId }: AttemptInput): Promise<AttemptReport> {
  const routing = await findTaskRouting(db, taskId);
  const begun = routing?.attempted.find((attempted) => attempted.channelId === channelId);
  if (begun?.outcome === null) throw new AttemptInterrupted('the channel of an attempt that runs cannot be used');
  return { kind: 'skipped' };
}

function recordedReport(memory: AttemptMemory): AttemptReport {
  if (memory.outcome === 'canceled' || memory.outcome === null) return { kind: 'canceled' };
  return { kind: memory.outcome, code: memory.code as TaskErrorCode | null };
}

/** The task ended while nobody looked: its job upstream is told to stop, once. */
async function over(deps: AttemptDeps, taskId: string): Promise<AttemptReport> {
  await stopUpstream(deps, taskId);
  return { kind: 'over' };
}

/** How long after the submit's own timeout its answer may still be written. */
const submitMarginSeconds = 5;
/** A submit that begins so late after its row was written first makes sure that the row is still its own. */
const submitRenewedAfterMs = 1_000;
/** Nothing was bought, by reason of our own. */
const notSent = (detail: string): AttemptEnd => ({
  outcome: 'transient',
  code: 'upstream_failed',
  errorClass: 'deadline',
  detail,
});
/** How often the task row is told that somebody works on it. */
const seenEveryMs = 20_000;

class AttemptRun {
  readonly #deps: AttemptDeps;
  readonly #task: AttemptTask;
  #opened: OpenedChannel;
  readonly #signals: AttemptSignals;
  readonly #deadline: number;
  /** When the row was last asked for. */
  #begunAt = 0;
  #inputs: HeldInputs | null = null;
  /** Holds their bytes. */
  #request: MediaRequest | null = null;

  constructor(deps: AttemptDeps, task: AttemptTask, opened: OpenedChannel, signals: AttemptSignals) {
    this.#deps = deps;
    this.#task = task;
    this.#opened = opened;
    this.#signals = signals;
    this.#deadline = performance.now() + task.remainingMs;
  }

  /**
   * Has the inputs at hand and room for their bytes before the row is written: with it the time for the submit begins, and who
   * finds it later must take the job for bought. Null: go on.
   */
  async awaitInputs(): Promise<AttemptReport | null> {
    if (!hasMediaInputs(this.#task.input ?? {})) return null;
    const routing = await findTaskRouting(this.#deps.db, this.#task.taskId);
    if (routing?.attempted.some(({ channelId }) => channelId === this.#opened.row.id)) return null;
    const { canceled, shutdown } = this.#signals;
    const unwanted = new AbortController();
    const seen = setInterval(() => {
      markSeen(this.#deps.db, this.#task.taskId, null).then(
        ({ wanted }) => wanted || unwanted.abort(),
        () => undefined,
      );
    }, seenEveryMs);
    const held = await this.#holdInputs(AbortSignal.any([canceled, shutdown, unwanted.signal])).finally(() =>
      clearInterval(seen),
    );
    if (held) {
      // Its credential or its place may be another by now.
      const opened = await openChannel(this.#deps, this.#task, this.#opened.row.id);
      if (opened?.row.adapter !== this.#opened.row.adapter) return { kind: 'skipped' };
      this.#opened = opened;
      return null;
    }
    if (shutdown.aborted) throw new AttemptInterrupted('shutting down while waiting for inputs');
    if (canceled.aborted) return { kind: 'skipped' };
    return unwanted.signal.aborted ? over(this.#deps, this.#task.taskId) : { kind: 'deadline' };
  }

  async #holdInputs(signal: AbortSignal): Promise<HeldInputs | null> {
    const { taskId, projectId, input } = this.#task;
    const asBytes = this.#opened.adapter.inputsAsBytes === true;
    const remainingMs = () => this.#remainingMs();
    this.#inputs ??= await holdInputs(this.#deps, {
      ...{ taskId, projectId, input: input ?? {}, asBytes, remainingMs, signal },
    });
    return this.#inputs;
  }

  /** Their bytes are held no longer than until the submit is answered. */
  letInputsGo(): void {
    this.#inputs?.release();
    this.#inputs = null;
    this.#request = null;
  }

  /** Opens or resumes the row. A submit that may still be on its way elsewhere is waited for. */
  async begin(): Promise<AttemptMemory | 'skipped'> {
    const begin = () =>
      beginAttempt(this.#deps.db, {
        attemptId: newId('att'),
        taskId: this.#task.taskId,
        channelId: this.#opened.row.id,
        fence: newId('att'),
        submitSeconds: this.#submitSeconds() + submitMarginSeconds,
        costMicroUsd: this.#opened.mapping.cost_micro_usd,
        probeSeconds: this.#deps.config.BREAKER_PROBE_SECONDS,
        adapter: this.#opened.row.adapter,
      });
    const looksMax = 1_000;
    for (let looks = 0; looks < looksMax; looks++) {
      this.#begunAt = performance.now();
      const memory = await begin();
      if (!memory?.fresh) this.letInputsGo();
      if (!memory) return 'skipped';
      const mayBeOnItsWay =
        !memory.fresh && memory.outcome === null && !memory.operation && memory.submitDeadlineMs > 0;
      if (!mayBeOnItsWay) return memory;
      await this.#wait(Math.min(memory.submitDeadlineMs + 50, 1_000));
      if (this.#signals.canceled.aborted) return 'skipped';
    }
    throw new AttemptInterrupted('the earlier submit never reached its deadline');
  }

  /** Buys, once. Cancellation is ignored here: whether the upstream took the job must be known. */
  async submit(memory: AttemptMemory): Promise<AttemptReport> {
    const { adapter, upstream } = this.#opened;
    if (!adapter.submitMedia) return { kind: 'skipped' };
    const request = await this.#buildRequest(memory).catch((error: unknown): AttemptEnd => {
      // Thrown on, it would leave a row of which nobody knows that nothing was sent.
      this.#deps.logger.error({ err: error, task_id: this.#task.taskId }, 'the inputs of a task could not be read');
      return { ...notSent('our own copy of an input could not be read'), errorClass: 'rejected' };
    });
    if (!('model' in request)) {
      await this.#deps.channels.release(this.#opened.row, this.#task.modelId);
      return this.#end(memory, request);
    }
    if (this.#remainingMs() <= 0) {
      await this.#deps.channels.release(this.#opened.row, this.#task.modelId);
      return this.#end(memory, notSent("the task's time was over before anything could be sent"));
    }
    // Reading the inputs, or a process that stood still, may have taken the time that the row grants to this submit: beyond
    // it somebody else may ask what became of it, and buy elsewhere.
    if (performance.now() - this.#begunAt > submitRenewedAfterMs) {
      const seconds = this.#submitSeconds() + submitMarginSeconds;
      if (!(await renewSubmit(this.#deps.db, memory, seconds))) return this.#lost();
    }
    const timeoutMs = Math.min(this.#submitSeconds() * 1000, this.#remainingMs());
    const startedAt = performance.now();
    const attempt = await adapter.submitMedia(upstream, request, {
      signal: AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs))),
    });
    if (attempt.kind === 'ok' || attempt.kind === 'done') crashPoint('after_upstream_accept_before_save');
    await this.#noteHealth(attempt.kind === 'done' ? { kind: 'ok', value: null } : attempt, startedAt);
    // The answer is lost, not the job: a provider that can be asked by our key knows.
    if (attempt.kind === 'unknown' && adapter.findMedia) return this.lookUp(memory, attempt);
    this.letInputsGo();
    return this.#afterSubmit(memory, attempt);
  }

  /** The same request for the same attempt, whoever builds it; or how the attempt ends, where an input cannot be had. */
  async #buildRequest(memory: AttemptMemory): Promise<MediaRequest | AttemptEnd> {
    if (this.#request) return this.#request;
    const { mapping } = this.#opened;
    const input = this.#task.input ?? {};
    const { shutdown } = this.#signals;
    const held = await this.#holdInputs(shutdown);
    if (shutdown.aborted && !held) throw new AttemptInterrupted('shutting down while waiting for inputs');
    if (!held) return notSent("the task's time was over before its inputs were there");
    const inputs = await held.read();
    if (inputs.kind === 'failed') {
      // Another channel may take the URL as it is, or have more luck in a moment.
      return { outcome: 'transient', code: 'upstream_failed', errorClass: 'rejected', detail: inputs.detail };
    }
    this.#request = {
      type: this.#task.type,
      model: upstreamModel(mapping, input),
      prompt: typeof input.prompt === 'string' ? input.prompt : '',
      parameters: mapParameters(mapping, input),
      idempotencyKey: memory.attemptId,
      ...(mapping.inputs && { inputNames: mapping.inputs }),
      ...inputs.inputs,
    };
    return this.#request;
  }

  #submitSeconds(): number {
    const { config } = this.#deps;
    const isLong = this.#opened.adapter.answersAtOnce?.includes(this.#task.type) ?? false;
    return isLong ? config.SUBMIT_AT_ONCE_TIMEOUT_SECONDS : config.SUBMIT_TIMEOUT_SECONDS;
  }

  /** A submit was begun and its answer is lost: ask the provider if it can be asked, else say that we do not know. */
  async lookUp(
    memory: AttemptMemory,
    submitted?: Extract<Attempt<Operation>, { kind: 'unknown' }>,
  ): Promise<AttemptReport> {
    const { adapter, upstream } = this.#opened;
    const request = adapter.findMedia && (await this.#buildRequest(memory));
    if (adapter.findMedia && request && 'model' in request) {
      const found = await adapter.findMedia(upstream, request, { signal: this.#callSignal() });
      this.letInputsGo();
      if (found.kind === 'ok' && found.value) return this.#afterSubmit(memory, { kind: 'ok', value: found.value });
      if (found.kind === 'ok') {
        return this.#end(memory, {
          outcome: 'transient',
          errorClass: 'interrupted',
          detail: 'the provider knows no job under our idempotency key',
        });
      }
    }
    return this.#end(memory, {
      outcome: 'unknown',
      code: 'upstream_outcome_unknown',
      errorClass: submitted?.errorClass ?? 'interrupted',
      status: submitted?.status ?? null,
      detail: submitted?.detail ?? 'the submit was interrupted on our side and the provider cannot be asked',
    });
  }

  async #afterSubmit(memory: AttemptMemory, attempt: Attempt<Operation> | SubmitDone): Promise<AttemptReport> {
    if (attempt.kind === 'done') {
      const ours = await saveOperation(this.#deps.db, memory, attempt.operation ?? answeredAtOnce);
      return ours ? this.#takeOutputs(memory, attempt.outputs) : this.#lost();
    }
    if (attempt.kind === 'ok') {
      const ours = await saveOperation(this.#deps.db, memory, attempt.value);
      return ours ? this.poll(memory, attempt.value) : this.#lost();
    }
    const code =
      attempt.kind === 'unknown'
        ? 'upstream_outcome_unknown'
        : attempt.kind === 'refused'
          ? attempt.code
          : 'upstream_failed';
    return this.#end(memory, {
      outcome: attempt.kind,
      code,
      errorClass: attempt.errorClass,
      status: attempt.status ?? null,
      detail: attempt.detail,
    });
  }

  /** Looks at the accepted job until it ends, the deadline comes or nobody wants it any more. */
  async poll(memory: AttemptMemory, operation: JsonObject): Promise<AttemptReport> {
    const { config } = this.#deps;
    const { adapter, upstream } = this.#opened;
    if (isAnsweredAtOnce(operation)) {
      return this.#end(memory, {
        outcome: 'unknown',
        code: 'upstream_outcome_unknown',
        errorClass: 'job_lost',
        detail: 'the results came with the submit and were lost before they were stored',
      });
    }
    if (!adapter.pollMedia) return { kind: 'skipped' };
    let waitMs = config.POLL_INTERVAL_MIN_MS;
    let seenAt = performance.now();
    let missingSince: number | null = null;
    // Bounded by the deadline, whose every turn costs at least one interval.
    while (this.#remainingMs() > 0) {
      await this.#wait(Math.min(waitMs, this.#remainingMs()));
      if (this.#signals.canceled.aborted) return this.#giveUp(memory);
      const look = await adapter.pollMedia(upstream, operation, { signal: this.#callSignal() });
      const end = await this.#afterLook(memory, look);
      if (end) return end;
      crashPoint('mid_poll');

      missingSince = look.kind === 'missing' ? (missingSince ?? performance.now()) : null;
      if (missingSince !== null && performance.now() - missingSince > config.POLL_MISSING_LOST_SECONDS * 1000) {
        return this.#end(memory, {
          outcome: 'unknown',
          code: 'upstream_outcome_unknown',
          errorClass: 'job_lost',
          status: 404,
          detail: 'the upstream no longer knows the job',
        });
      }
      if (performance.now() - seenAt > seenEveryMs) {
        const progress = look.kind === 'pending' ? (look.progress ?? null) : null;
        const { wanted } = await markSeen(this.#deps.db, this.#task.taskId, progress);
        if (!wanted) return this.#giveUp(memory);
        seenAt = performance.now();
      }
      waitMs = Math.min(waitMs * 1.3, config.POLL_INTERVAL_MAX_MS);
    }
    return { kind: 'deadline' };
  }

  async #afterLook(memory: AttemptMemory, look: PollResult): Promise<AttemptReport | null> {
    switch (look.kind) {
      case 'done':
        return this.#takeOutputs(memory, look.outputs);
      case 'failed':
        return this.#end(memory, {
          outcome: 'transient',
          code: 'upstream_failed',
          errorClass: 'job_failed',
          status: look.status ?? null,
          detail: look.detail,
        });
      case 'refused':
        return this.#end(memory, {
          outcome: 'refused',
          code: look.code,
          errorClass: 'content_policy',
          status: look.status ?? null,
          detail: look.detail,
        });
      case 'pending':
      case 'missing':
      case 'unclear':
        return null;
    }
  }

  /** Remembers where the results lie, if they lie anywhere, and copies them: inline bytes are too large for a row. */
  async #takeOutputs(memory: AttemptMemory, outputs: UpstreamOutput[]): Promise<AttemptReport> {
    const isInline = outputs.some(({ url }) => url.startsWith('data:'));
    const ours = isInline || (await saveResult(this.#deps.db, memory, outputs));
    return ours ? this.copy(memory, outputs) : this.#lost();
  }

  /** Another holder has the row. While the task lives its outcome is that one's to tell, and no end of the task. */
  async #lost(): Promise<AttemptReport> {
    const task = await findTaskForAttempt(this.#deps.db, this.#task.taskId);
    if (!task || isTerminal(task.status)) return over(this.#deps, this.#task.taskId);
    throw new AttemptInterrupted('another holder has taken this attempt over');
  }

  /** Brings the results home before the upstream's links die. Begun again, it goes on where it was. */
  async copy(memory: AttemptMemory, results: UpstreamOutput[]): Promise<AttemptReport> {
    const copied = await copyOutputs(this.#deps, {
      attemptId: memory.attemptId,
      fence: memory.fence,
      projectId: this.#task.projectId,
      taskId: this.#task.taskId,
      type: this.#task.type,
      results,
      channelBaseUrl: this.#opened.row.baseUrl,
      channelHeaders: this.#opened.adapter.outputHeaders?.(this.#opened.upstream) ?? {},
      remainingMs: () => this.#remainingMs(),
      signal: AbortSignal.any([this.#signals.canceled, this.#signals.shutdown]),
    });
    if (copied.kind === 'interrupted') {
      if (this.#signals.shutdown.aborted) throw new AttemptInterrupted('shutting down while copying outputs');
      return this.#giveUp(memory);
    }
    if (copied.kind === 'failed') {
      return this.#end(memory, { outcome: 'refused', code: copied.code, errorClass: 'output', detail: copied.detail });
    }
    return this.#end(memory, { outcome: 'ok', outputs: copied.outputs });
  }

  /** The task is no longer wanted: what stands is left for the operator, and the upstream is told once its end is written. */
  async #giveUp(memory: AttemptMemory): Promise<AttemptReport> {
    const task = await findTaskForAttempt(this.#deps.db, this.#task.taskId);
    if (task && isTerminal(task.status)) {
      await endAttempt(this.#deps.db, memory, { outcome: 'canceled', detail: 'the task ended before its job did' });
      await stopUpstream(this.#deps, this.#task.taskId);
    }
    return { kind: 'canceled' };
  }

  async #end(memory: AttemptMemory, given: AttemptEnd): Promise<AttemptReport> {
    const end = await this.#asWanted(given);
    const ours = await endAttempt(this.#deps.db, memory, end);
    if (!ours) {
      // Another holder went on with this row: what it recorded is the outcome.
      const standing = await this.begin();
      if (standing !== 'skipped' && standing.outcome !== null) return recordedReport(standing);
      throw new AttemptInterrupted('another holder has taken this attempt over');
    }
    this.#deps.logger.info(
      {
        task_id: this.#task.taskId,
        request_id: this.#task.requestId,
        attempt_id: memory.attemptId,
        channel: this.#opened.row.name,
        outcome: end.outcome,
        error_class: end.errorClass ?? undefined,
        status: end.status ?? undefined,
      },
      'attempt ended',
    );
    if (end.outcome === 'canceled') return { kind: 'canceled' };
    return { kind: end.outcome, code: (end.code ?? null) as TaskErrorCode | null };
  }

  /**
   * What brought nothing to a client who wants the task stopped has canceled it: the job may have been stopped by that very
   * cancel, and nothing more is bought either way.
   */
  async #asWanted(end: AttemptEnd): Promise<AttemptEnd> {
    if (end.outcome !== 'transient' && end.code !== 'upstream_failed') return end;
    const task = await findTaskForAttempt(this.#deps.db, this.#task.taskId);
    return task?.cancelRequested ? { ...end, outcome: 'canceled', code: null } : end;
  }

  /** What a submit says of its channel. Not worth failing for: the next one says it again. */
  async #noteHealth(attempt: Attempt<unknown>, startedAt: number): Promise<void> {
    const { row } = this.#opened;
    try {
      await this.#deps.channels.note(row, this.#task.modelId, attempt, startedAt);
    } catch (error) {
      this.#deps.logger.warn({ err: error, channel: row.name }, "a channel's health was not noted");
    }
  }

  #remainingMs(): number {
    return this.#deadline - performance.now();
  }

  #callSignal(): AbortSignal {
    const ms = Math.min(this.#deps.config.POLL_TIMEOUT_SECONDS * 1000, this.#remainingMs());
    return AbortSignal.timeout(Math.max(1, Math.ceil(ms)));
  }

  /** Waits, but not through a shutdown. */
  async #wait(ms: number): Promise<void> {
    await pause(ms, AbortSignal.any([this.#signals.canceled, this.#signals.shutdown]));
    if (this.#signals.shutdown.aborted) throw new AttemptInterrupted('shutting down');
  }
}
