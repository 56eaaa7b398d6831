import type { z } from 'zod';
import type { PollResult, UpstreamOutput } from '../../domain/channels/upstream.ts';
import type { CallOutcome, UpstreamCall, UpstreamCaller } from '../upstream/call-upstream.ts';
import type { Adapter, CallOptions, MediaRequest, ProviderRef, SubmitResult, Upstream } from '../channel.ts';
import { toSubmit, unanswered, type FailedAnswer, type OutcomeVerdict } from '../upstream/classify-outcome.ts';
import { onProviderJob } from '../upstream/family-calls.ts';
import { readMediaOutcome } from './media-outcome.ts';
import { failedPoll, unreadableReference } from './poll.ts';
import { unsuccessful } from '../reading/problem.ts';
import { noOutput } from '../reading/provider-job-report.ts';
import type { MediaAnswers } from '../reading/media-answers.ts';

/** The call of a submit, without the family's own headers. */
interface Submission extends Pick<UpstreamCall, 'path' | 'headers' | 'body' | 'form'> {
  /** Its idempotency key becomes a header. Most providers document none: it helps to find a task in their logs. Absent if the body has the key. */
  request?: MediaRequest;
}
const withKey = ({ request, headers, ...call }: Submission) => ({
  ...call,
  method: 'POST' as const,
  headers: { ...headers, ...(request && { 'idempotency-key': request.idempotencyKey }) },
});

/** A 4k PNG has about 20 MB and a third more in base64, and some models return several. */
const inlineJsonBytesMax = 64_000_000;
/** Longer than any synchronous submit may run: the signal ends it first (`SUBMIT_AT_ONCE_TIMEOUT_SECONDS`). */
const synchronousMs = 600_000;

/** An answer with the results, or why it has none: the provider's word, or its policy. Null if it has nothing that decides. */
export type ResultReader = (json: unknown) => UpstreamOutput[] | FailedAnswer | 'withheld' | null;

interface MediaFamily {
  headers: (upstream: Upstream) => Record<string, string>;
  answers: MediaAnswers;
  /** The provider may hold a submit open until the job is done, so its answer may have the results. */
  mayWait?: boolean;
}

/** The calls about media that families share, with the headers of one family and the readers of its answers. */
export function mediaCalls(caller: UpstreamCaller, { headers, answers, mayWait = false }: MediaFamily) {
  /** Sends one call, by default a GET, with the family's headers. Ids in its answer keep their digits. */
  const call = (upstream: Upstream, request: Omit<UpstreamCall, 'method'> & Partial<Pick<UpstreamCall, 'method'>>) => {
    const allHeaders = { ...headers(upstream), ...request.headers };
    return caller.call(upstream, { method: 'GET', keepsDigits: true, ...request, headers: allHeaders });
  };

  /** Asks about a job. `read` returns null for a 2xx without anything that decides. */
  const ask = async <T>(
    upstream: Upstream,
    path: string,
    read: (json: unknown) => T | null,
    { signal }: CallOptions,
  ): Promise<OutcomeVerdict<T>> => readMediaOutcome(await call(upstream, { path, signal }), read, answers.error);

  return {
    call,
    ask,

    /** `probe` by a free call such as a list. Only the shape of its answer is checked. */
    probeBy:
      (path: string, shape: z.ZodType): Required<Adapter>['probe'] =>
      async (upstream, { signal }) => {
        const isShaped = (json: unknown): true | null => shape.safeParse(json).success || null;
        return toSubmit(readMediaOutcome(await call(upstream, { path, signal }), isShaped, answers.error));
      },

    /** Submits a job. `toProviderRef` makes the reference to save of the provider's id. */
    submit: async (
      upstream: Upstream,
      submission: Submission,
      toProviderRef: (id: string) => ProviderRef,
      { signal }: CallOptions,
    ): Promise<SubmitResult> =>
      submitResult(await call(upstream, { ...withKey(submission), signal }), toProviderRef, answers, mayWait),

    /** A submit whose answer is the result. It may take minutes, and the images come in base64. */
    submitSynchronously: async (
      upstream: Upstream,
      submission: Submission,
      read: ResultReader,
      { signal, headersMs = synchronousMs, timeoutMs = synchronousMs }: CallOptions,
    ): Promise<SubmitResult> => {
      const limits = { signal, headersMs, timeoutMs, bodyBytesMax: inlineJsonBytesMax };
      const outcome = await call(upstream, { ...withKey(submission), ...limits });
      if (outcome.kind !== 'answered') return toSubmit(unanswered(outcome));
      const { status } = outcome;
      const attempt = toSubmit(readMediaOutcome(outcome, unlessError(read, answers), answers.error));
      if (attempt.kind !== 'ok') return attempt;
      const { value } = attempt;
      if (value === 'withheld') return refusedSubmit(status, { code: 'content_policy_violation', detail: 'withheld' });
      return value.length > 0 ? { kind: 'done', outputs: value } : failedSubmit(status, noOutput);
    },

    /** `pollMedia` of a family that answers with the state of the job. */
    pollBy: <J extends z.ZodType>(
      reference: J,
      pathOf: (ref: z.infer<J>) => string,
      read: (json: unknown, ref: z.infer<J>, upstream: Upstream) => PollResult | null = answers.result,
    ): Required<Adapter>['pollMedia'] =>
      onProviderJob(reference, unreadableReference, async (upstream, ref, options: CallOptions) => {
        const poll = await ask(upstream, pathOf(ref), (json) => read(json, ref, upstream), options);
        return poll.kind === 'ok' ? poll.value : failedPoll(poll);
      }),
  };
}

const failedSubmit = (status: number, detail: string) =>
  ({ kind: 'transient', errorClass: 'job_failed', detail: `HTTP ${status}, ${detail}`, status }) as const;
const refusedSubmit = (
  status: number,
  { code, detail }: Pick<Extract<PollResult, { kind: 'refused' }>, 'code' | 'detail'>,
) => {
  const errorClass = code === 'content_policy_violation' ? 'content_policy' : 'rejected';
  return { kind: 'refused', code, errorClass, detail: `HTTP ${status}, ${detail}`, status } as const;
};

/** Results that are there count. Without any, an error that the same answer tells decides: null lets the reader of errors have it. */
const unlessError =
  (read: ResultReader, answers: MediaAnswers): ResultReader =>
  (json) => {
    const value = read(json);
    if (Array.isArray(value) && value.length > 0) return value;
    return tellsError(json, answers) ? null : value;
  };

/** Whether an answer tells an error. One that only calls itself unsuccessful may still have the id of a job that is paid for. */
const tellsError = (json: unknown, { error }: MediaAnswers): boolean =>
  (error(json, 200) ?? [unsuccessful]).join() !== unsuccessful;

/**
 * What the answer to a submit says. A job with an id and a state is accepted. Otherwise an error that the answer tells comes first,
 * then the id. Without an id, the results or the failure that the answer shows still decide.
 */
function submitResult(
  outcome: CallOutcome,
  toProviderRef: (id: string) => ProviderRef,
  answers: MediaAnswers,
  mayWait: boolean,
): SubmitResult {
  if (outcome.kind !== 'answered') return toSubmit(unanswered(outcome));
  const read = (json: unknown): Submitted | null => {
    const id = answers.providerJobId(json);
    const state = answers.state(json);
    const namesState = state !== 'absent' && state !== 'unknown';
    if (!(id !== undefined && namesState) && tellsError(json, answers)) return null;
    if (id !== undefined && !mayWait) return { providerRef: toProviderRef(id) };
    const end = toEnd(answers.result(json));
    if (id === undefined) return end && { end };
    return { providerRef: toProviderRef(id), ...(end?.kind === 'done' && { end }) };
  };
  const attempt = toSubmit(readMediaOutcome(outcome, read, answers.error));
  if (attempt.kind !== 'ok') return attempt;
  const { providerRef, end } = attempt.value;
  if (end?.kind === 'done') return { kind: 'done', outputs: end.outputs, ...(providerRef && { providerRef }) };
  if (providerRef) return { kind: 'ok', value: providerRef };
  const { status } = outcome;
  return end?.kind === 'refused' ? refusedSubmit(status, end) : failedSubmit(status, end?.detail ?? noOutput);
}

interface Submitted {
  providerRef?: ProviderRef;
  end?: End;
}
type End = Extract<PollResult, { kind: 'done' | 'failed' | 'refused' }>;
const toEnd = (result: PollResult | null): End | null =>
  result?.kind === 'done' || result?.kind === 'failed' || result?.kind === 'refused' ? result : null;
