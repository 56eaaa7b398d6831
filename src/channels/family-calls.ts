import type { z } from 'zod';
import type { ChatReply, UpstreamChat } from '../domain/chat.ts';
import type { Attempt, PollResult, UpstreamOutput } from '../domain/upstream.ts';
import type { RequestBody, UpstreamCall, UpstreamCaller } from './call-upstream.ts';
import { readChatStream, type EventReader } from './chat-events.ts';
import type { Adapter, CallOptions, Operation, SubmitResult, Upstream } from './channel.ts';
import { classifyChat, classifySubmit, readOutcome, type FailedAnswer, type ReadError } from './classify-outcome.ts';
import { modelListBy } from './list-models.ts';
import { doneWith, failedPoll, parsedBy, unreadableReference } from './poll.ts';

/** The request of a submit, without the family's own headers. */
type Submission = Pick<UpstreamCall, 'path' | 'headers' | 'body' | 'form'>;

/** A chat reply is text, so one near this size is a fault or an attack (rules "Limits"). */
const chatJsonBytesMax = 8_000_000;
/** A 4k PNG has about 20 MB and a third more in base64, and some models return several. */
const inlineJsonBytesMax = 64_000_000;
/** Longer than any synchronous submit may run: the signal ends it first (`SUBMIT_AT_ONCE_TIMEOUT_SECONDS`). */
const synchronousMs = 600_000;

/** The calls that families share, with the headers of one family and its way to read errors. */
export function familyCalls(
  caller: UpstreamCaller,
  { headers, readError }: { headers: (upstream: Upstream) => Record<string, string>; readError: ReadError },
) {
  /** Sends one call, by default a GET, with the family's headers. */
  const call = (upstream: Upstream, given: Omit<UpstreamCall, 'method'> & Partial<Pick<UpstreamCall, 'method'>>) =>
    caller.call(upstream, { method: 'GET', ...given, headers: { ...headers(upstream), ...given.headers } });

  /** Reads an answer that must have this shape. */
  const get = async <S extends z.ZodType>(upstream: Upstream, path: string, shape: S, { signal }: CallOptions) =>
    readOutcome(await call(upstream, { path, signal }), parsedBy(shape), readError);

  return {
    call,
    get,

    /** Submits a job. `read` returns null for a 2xx that cannot be used. */
    submit: async <T>(
      upstream: Upstream,
      given: Submission,
      read: (json: unknown) => T | null,
      { signal }: CallOptions,
    ): Promise<Attempt<T>> =>
      classifySubmit(await call(upstream, { method: 'POST', ...given, signal }), read, readError),

    /**
     * A submit whose answer is the result. It may take minutes, and the images come in base64. `read` returns null for an
     * unusable 2xx, and an empty list if the provider's policy withheld the outputs.
     */
    submitSynchronously: async (
      upstream: Upstream,
      given: Submission,
      read: (json: unknown) => UpstreamOutput[] | FailedAnswer | null,
      { signal, headersMs = synchronousMs, timeoutMs = synchronousMs }: CallOptions,
    ): Promise<SubmitResult> => {
      const limits = { signal, headersMs, timeoutMs, bodyBytesMax: inlineJsonBytesMax };
      const attempt = classifySubmit(await call(upstream, { method: 'POST', ...given, ...limits }), read, readError);
      if (attempt.kind !== 'ok') return attempt;
      const result = doneWith(attempt.value);
      return result.kind === 'done' ? result : { ...result, errorClass: 'content_policy', status: 200 };
    },

    /** `pollMedia` of a family that answers with the state of the job. */
    pollBy: <J extends z.ZodType, S extends z.ZodType>(
      reference: J,
      pathOf: (job: z.infer<J>) => string,
      shape: S,
      toResult: (answer: z.infer<S>, job: z.infer<J>, upstream: Upstream) => PollResult,
    ): Required<Adapter>['pollMedia'] =>
      onJob(reference, unreadableReference, async (upstream, job, options: CallOptions) => {
        const poll = await get(upstream, pathOf(job), shape, options);
        return poll.kind === 'ok' ? toResult(poll.value, job, upstream) : failedPoll(poll);
      }),

    /** `chat` of a family. `toReply` returns null for an unusable 2xx, and `blocked` if the policy refused the prompt. */
    chatBy:
      (
        pathOf: (request: UpstreamChat) => string,
        toBody: (request: UpstreamChat) => RequestBody,
        toReply: (json: unknown, request: UpstreamChat) => ChatReply | 'blocked' | FailedAnswer | null,
      ): Required<Adapter>['chat'] =>
      async (upstream, request, options) => {
        const given = { ...options, path: pathOf(request), body: toBody(request), bodyBytesMax: chatJsonBytesMax };
        const outcome = await call(upstream, { method: 'POST', ...given });
        return classifyChat(outcome, (json) => toReply(json, request), readError);
      },

    chatStreamBy: chatStreamBy(caller, { headers, readError }),

    /** `probe` by a free call such as a list. Only the shape of its answer is checked. */
    probeBy:
      (path: string, shape: z.ZodType): Required<Adapter>['probe'] =>
      async (upstream, { signal }) => {
        const isShaped = (json: unknown): true | null => shape.safeParse(json).success || null;
        return classifySubmit(await call(upstream, { path, signal }), isShaped, readError);
      },

    modelListBy: modelListBy(call, readError),
  };
}

/** Makes `chatStream` of a family, by the path and the body with which the family is asked for a stream. */
const chatStreamBy =
  (caller: UpstreamCaller, { headers, readError }: Parameters<typeof familyCalls>[1]) =>
  (
    pathOf: (request: UpstreamChat) => string,
    toBody: (request: UpstreamChat) => RequestBody,
    read: {
      events: (request: UpstreamChat) => EventReader;
      reply: (json: unknown, request: UpstreamChat) => ChatReply | 'blocked' | FailedAnswer | null;
    },
  ): Required<Adapter>['chatStream'] =>
  async (upstream, request, { limits, signal }) => {
    const given = { path: pathOf(request), body: toBody(request), headers: headers(upstream) };
    const bounds = { limits, signal, bodyBytesMax: chatJsonBytesMax };
    const outcome = await caller.stream(upstream, { method: 'POST', ...given, ...bounds });
    return readChatStream(outcome, {
      events: () => read.events(request),
      reply: (json) => read.reply(json, request),
      error: readError,
    });
  };

/**
 * A method for submitted jobs. It returns `otherwise` if the saved reference is not of this family, because the channel's family
 * was changed while the job ran.
 */
export const onJob =
  <J extends z.ZodType, A, O>(
    reference: J,
    otherwise: A,
    work: (upstream: Upstream, job: z.infer<J>, options: O) => Promise<A>,
  ) =>
  (upstream: Upstream, operation: Operation, options: O): Promise<A> => {
    const job = reference.safeParse(operation);
    return job.success ? work(upstream, job.data, options) : Promise.resolve(otherwise);
  };
