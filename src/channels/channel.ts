import type { ChatReply, UpstreamChat } from '../domain/chat.ts';
import type { ChatSupports } from '../domain/chat-supports.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { TaskType } from '../domain/task.ts';
import type { MediaInputKey } from '../domain/parameters.ts';
import type { Attempt, PollResult, UpstreamOutput } from '../domain/upstream.ts';

/** One configured upstream, opened for one call. The credential is in the clear here and nowhere else. */
export interface Upstream {
  channelId: string;
  /** Without a trailing slash. */
  baseUrl: string;
  credential: string;
  /** Sent as `x-request-id`, so that one id leads from the client's request to the provider's log. */
  requestId?: string;
}

/** A picture, clip or sound that goes upstream: a public https URL passed through, or bytes as a `data:` URI. */
export type MediaInput = { url: string };

/** One media job in an adapter's own terms: the upstream's model name and mapped parameters, not ours. */
export interface MediaRequest {
  type: TaskType;
  /** The upstream's name of the model (catalog: `upstream.<family>.model`). */
  model: string;
  prompt: string;
  /** Already renamed and mapped by the catalog's `parameters`; sent as they are. */
  parameters: JsonObject;
  image?: MediaInput;
  referenceImages?: MediaInput[];
  videoUrl?: MediaInput;
  audioUrl?: MediaInput;
  /** The provider's own names of the inputs, where they differ from model to model (catalog: `upstream.<family>.inputs`). */
  inputNames?: Partial<Record<MediaInputKey, string>>;
  /** Sent where the provider knows idempotency keys or tags. */
  idempotencyKey: string;
}

/** The upstream's own reference of a submitted job: opaque JSON that only its adapter reads. */
export type Operation = { [key: string]: JsonValue };

/**
 * A submit that answered with the results: nothing is left to poll. They may be `data:` URIs of many megabytes, so they are
 * copied immediately and never stored in a row.
 */
export interface SubmitDone {
  kind: 'done';
  outputs: UpstreamOutput[];
  /** Where the provider can be asked for them again. */
  operation?: Operation;
}

/** Saved instead of a reference when the submit answered with the results. Only the run that holds them can continue. */
export const answeredSynchronously: Operation = { answered_at_once: true };
/** Whether the results came with the submit, so that there is nothing to poll. */
export const isAnsweredSynchronously = (operation: Operation): boolean => operation.answered_at_once === true;

export interface CallOptions {
  /** Ends the call, whatever it is doing. */
  signal: AbortSignal;
  /** Until the answer's headers, in milliseconds; that of the adapter, else of its caller, when absent. */
  headersMs?: number;
  /** The whole call, in milliseconds; that of the adapter, else of its caller, when absent. */
  timeoutMs?: number;
}

export interface StopOptions extends CallOptions {
  /**
   * What is to become of a job that runs already, which most providers bill even when they stop it: `spare` leaves it alone,
   * so that its results can still be delivered; `stop` is for one that nobody wants any more.
   */
  running: 'spare' | 'stop';
}

/**
 * `stopped`: the provider confirms that nothing more comes of the job. `not_stopped`: nothing was done to it, it goes on or is
 * over. `unclear`: a stop was sent and may still take effect.
 */
export type StopAnswer = 'stopped' | 'not_stopped' | 'unclear';

/** What one provider family can do. An absent method means: not offered. */
export interface Adapter {
  /** Asks once; never retries. `transient` with class `interrupted` may be tried elsewhere once, every other one further. */
  chat?(upstream: Upstream, request: UpstreamChat, options: CallOptions): Promise<Attempt<ChatReply>>;
  /** What of a chat request this family can take; there if and only if `chat` is. */
  chatSupports?: ChatSupports;
  /** Submits once; never retries. */
  submitMedia?(
    upstream: Upstream,
    request: MediaRequest,
    options: CallOptions,
  ): Promise<Attempt<Operation> | SubmitDone>;
  /** Types whose submit answers with a synchronous result: it lasts as long as the job. */
  answersSynchronously?: readonly TaskType[];
  /** Takes pictures, clips and sounds as bytes only: the caller fetches every input that is a URL. */
  inputsAsBytes?: true;
  pollMedia?(upstream: Upstream, operation: Operation, options: CallOptions): Promise<PollResult>;
  /**
   * Looks a job up by the idempotency key of `request`, where the provider can: `null` says surely not there. Where the
   * provider replays a create for its key, this is the create again.
   */
  findMedia?(upstream: Upstream, request: MediaRequest, options: CallOptions): Promise<Attempt<Operation | null>>;
  /** What a result on the channel's own origin must be asked for with. Sent to that origin and nowhere else. */
  outputHeaders?(upstream: Upstream): Record<string, string>;
  /** Asks for the stop of a job. Asked again, it says what became of the job since. */
  cancelMedia?(upstream: Upstream, operation: Operation, options: StopOptions): Promise<StopAnswer>;
  /** A free call (a model list) that tells whether the upstream is there and takes our credential. */
  probe?(upstream: Upstream, options: CallOptions): Promise<Attempt<true>>;
}
