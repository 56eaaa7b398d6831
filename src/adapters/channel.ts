import type { ChatReply, UpstreamChat } from '../domain/chat/chat.ts';
import type { ChatDelta } from '../domain/chat/chat-stream.ts';
import type { ChatSupports } from '../domain/chat/chat-supports.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { TaskType } from '../domain/tasks/task.ts';
import type { MediaInputKey } from '../domain/catalog/parameter-value.ts';
import type { Attempt, PollResult, UpstreamOutput } from '../domain/channels/upstream.ts';
import type { VendorRules } from '../domain/chat/vendor-rules.ts';
import type { Tokenizer } from '../platform/tokens/token-counter.ts';

/** The longest silences of a streamed answer, in milliseconds. */
export interface SilenceLimits {
  /** From the call to the first byte of the answer's body. */
  firstByteMs: number;
  /** Between two pieces of the body. The time in which the client does not read does not count. */
  idleMs: number;
  /** From the headers to the end of an answer that is not streamed. */
  wholeMs: number;
}

/** One configured upstream for one call, with its credential unsealed. Nothing else holds an unsealed credential. */
export interface Upstream {
  channelId: string;
  /** Without a trailing slash. */
  baseUrl: string;
  credential: string;
  /** Sent as `x-request-id`, so that one id finds a request in the client's, our own and the provider's logs. */
  requestId?: string;
}

/** An image, clip or sound for the upstream: a public https URL, or bytes as a `data:` URI. */
export type MediaInput = { url: string };

/** One media job, with the upstream's names of the model and its parameters. */
export interface MediaRequest {
  type: TaskType;
  /** The upstream's name of the model (catalog: `upstream.<family>.model`). */
  model: string;
  prompt: string;
  /** Already mapped by the catalog's `parameters`. Sent unchanged. */
  parameters: JsonObject;
  image?: MediaInput;
  referenceImages?: MediaInput[];
  videoUrl?: MediaInput;
  audioUrl?: MediaInput;
  /** The provider's names of the inputs, if they depend on the model (catalog: `upstream.<family>.inputs`). */
  inputNames?: Partial<Record<MediaInputKey, string>>;
  /** Sent to providers that accept idempotency keys or tags. */
  idempotencyKey: string;
}

/** The upstream's reference to a submitted job: opaque JSON that only the adapter reads. */
export type ProviderRef = { [key: string]: JsonValue };

/**
 * A submit that the provider answered with the results. They may be `data:` URIs of many megabytes, so the worker copies them
 * into the file store immediately and no row holds them.
 */
export interface SubmitDone {
  kind: 'done';
  outputs: UpstreamOutput[];
  /** A reference for another poll, if the provider gives one. */
  providerRef?: ProviderRef;
}

export type SubmitResult = Attempt<ProviderRef> | SubmitDone;

/** Saved instead of a reference after a synchronous result. Only the worker that holds the result can finish the attempt. */
export const answeredSynchronously: ProviderRef = { answered_at_once: true };
/** Whether the result was synchronous, so that there is no job to poll. */
export const isAnsweredSynchronously = (providerRef: ProviderRef): boolean => providerRef.answered_at_once === true;

export interface CallOptions {
  /** Aborts the call at any stage. */
  signal: AbortSignal;
  /** Until the answer's headers, in milliseconds. The default is the adapter's, or else the upstream caller's. */
  headersMs?: number;
  /** The whole call, in milliseconds. The default is the adapter's, or else the upstream caller's. */
  timeoutMs?: number;
}

/** A chat ends by its time, so it needs no signal. */
export type ChatOptions = Omit<CallOptions, 'signal'> & Partial<Pick<CallOptions, 'signal'>>;

export interface StopOptions extends CallOptions {
  /**
   * What to do with a job that already runs. Most providers bill it even if they stop it. `spare` leaves it running, so that
   * its results can still be delivered. `stop` stops it, because its results are no longer needed.
   */
  running: 'spare' | 'stop';
}

/**
 * `stopped`: the provider confirms that the job will produce nothing. `not_stopped`: the job still runs or has ended.
 * `unclear`: the stop was sent and may still take effect.
 */
export type StopAnswer = 'stopped' | 'not_stopped' | 'unclear';

/** A chat whose answer arrives in pieces. */
export interface ChatStream {
  /**
   * Hands over the pieces as they arrive, as many together as arrived together, and resolves after a `finish` piece when nothing follows.
   * Rejects with `ChatStreamBroken` if the answer breaks off or cannot be read. To be called once.
   */
  each(take: TakePieces): Promise<void>;
  /** Whether a slow reader ever kept the answer from being received. How it ends then says nothing about the channel. */
  wasHeldBack(): boolean;
  /** Closes the connection to the provider. Harmless after the end. */
  stop(): void;
}

/** Takes the next pieces of an answer. If it returns a promise, it takes no more until that resolves. */
export type TakePieces = (pieces: ChatDelta[]) => Promise<void> | undefined;

/** The limits of a streamed chat are on silence only. */
export interface ChatStreamOptions {
  limits: SilenceLimits;
  signal: AbortSignal;
}

/** Why a streamed answer broke off. */
export class ChatStreamBroken extends Error {
  readonly attempt: Exclude<Attempt<never>, { kind: 'ok' }>;

  constructor(attempt: Exclude<Attempt<never>, { kind: 'ok' }>) {
    super(attempt.detail);
    this.name = 'ChatStreamBroken';
    this.attempt = attempt;
  }
}

/** What one provider family can do. An absent method means that the family does not offer it. */
export interface Adapter {
  /**
   * Calls once and never retries. After `transient` with the class `interrupted`, the gateway tries one more channel. After any
   * other `transient`, it tries the remaining channels.
   */
  chat?(upstream: Upstream, request: UpstreamChat, options: ChatOptions): Promise<Attempt<ChatReply>>;
  /** The same call, whose answer arrives in pieces. Present if and only if `chat` is. An answer that is not streamed comes as one piece. */
  chatStream?(upstream: Upstream, request: UpstreamChat, options: ChatStreamOptions): Promise<Attempt<ChatStream>>;
  /**
   * The provider stops writing, and billing, when the connection of a streamed chat is closed. Absent: it writes on, so that an answer whose
   * client has left is read on for its counts.
   */
  stopsAtHangUp?: true;
  /** Which parts of a chat request this family accepts. Present if and only if `chat` is. */
  chatSupports?: ChatSupports;
  /** Counts tokens of answers whose provider did not report them. Absent: they are estimated by script. */
  tokenizer?: Tokenizer;
  /** The same for mappings with `api: responses`. */
  responsesSupports?: ChatSupports;
  /** What each vendor of this family takes of a chat, by the word `vendor` of a mapping. */
  chatVendors?: Readonly<Record<string, VendorRules>>;
  /** What a client should know about parameters that this family leaves out or changes, in sentences. Absent: it sends all as they are. */
  chatWarnings?(request: UpstreamChat): string[];
  /** Submits once and never retries. */
  submitMedia?(upstream: Upstream, request: MediaRequest, options: CallOptions): Promise<SubmitResult>;
  /** The task types whose submit lasts as long as the job and returns its results. */
  answersSynchronously?: readonly TaskType[];
  /** Accepts inputs as bytes only, so the worker fetches inputs that are URLs first. */
  inputsAsBytes?: true;
  pollMedia?(upstream: Upstream, providerRef: ProviderRef, options: CallOptions): Promise<PollResult>;
  /**
   * Finds a job by the idempotency key of `request`. `null` means that the provider certainly has no such job. If the provider
   * returns the same job for a repeated create, this repeats the create.
   */
  findMedia?(upstream: Upstream, request: MediaRequest, options: CallOptions): Promise<Attempt<ProviderRef | null>>;
  /** The headers that fetch a result from the channel's own origin. They are sent to that origin only. */
  outputHeaders?(upstream: Upstream): Record<string, string>;
  /** Stops a job. A repeated call reports the job's current state. */
  cancelMedia?(upstream: Upstream, providerRef: ProviderRef, options: StopOptions): Promise<StopAnswer>;
  /** A free call, such as a model list, that checks whether the upstream is reachable and accepts our credential. */
  probe?(upstream: Upstream, options: CallOptions): Promise<Attempt<true>>;
  /** The provider's model list, which costs nothing, read to its end. */
  listModels?(upstream: Upstream, options: CallOptions): Promise<Attempt<ModelNames>>;
}

/** The names in a provider's model list. */
export interface ModelNames {
  names: ReadonlySet<string>;
  /** False if the list may go on, or if it is empty: then a missing name means nothing. */
  isComplete: boolean;
}

/** The media half of a family that also offers chat, returns images synchronously and serves results on its own origin. */
export type SynchronousMedia = Required<
  Pick<Adapter, 'submitMedia' | 'pollMedia' | 'answersSynchronously' | 'inputsAsBytes' | 'outputHeaders'>
>;
