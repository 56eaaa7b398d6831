import { Agent, type Dispatcher } from 'undici';
import { connectorSkippingContinue } from '../../platform/egress/skip-continue.ts';
import { SilenceTimer } from '../../platform/silence-timer.ts';
import type { Upstream } from '../channel.ts';
import {
  addressOf,
  errorNameOf,
  parse,
  readHeaders,
  sendRequest,
  type AnswerBody,
  type AnswerHeaders,
  type CallOutcome,
  type UpstreamCall,
} from './upstream-request.ts';
import { streamOnce, type StreamedCall, type UpstreamStream } from './stream-upstream.ts';

export { bearerAuthorization, type CallOutcome, type RequestBody, type UpstreamCall } from './upstream-request.ts';

/**
 * The only HTTP client for a channel's configured origin. One call is one request: no retry, no redirect, no proxy from the
 * environment, no compression. A failure of the network or the provider never throws. The call returns a `CallOutcome`, and
 * classify-outcome.ts decides what it means.
 */
export interface UpstreamCaller {
  call(upstream: Upstream, call: UpstreamCall): Promise<CallOutcome>;
  /**
   * Sends one call and resolves with its answer, or with the stream as soon as the headers of a `text/event-stream` arrive. The call
   * has no limit of its whole time.
   */
  stream(upstream: Upstream, call: StreamedCall): Promise<CallOutcome | UpstreamStream>;
  /** Closes every connection. Running calls end as `interrupted`. */
  close(): Promise<void>;
}

/** All in milliseconds. undici's own defaults (300 s) would hold a worker far beyond an attempt's deadline. */
export interface UpstreamTimeouts {
  connectMs: number;
  /** From the request's last byte to the answer's headers. */
  headersMs: number;
  /** Between two chunks of the answer's body. */
  idleBodyMs: number;
  /** The whole call. It ends an answer that is slow but never idle. */
  totalMs: number;
}

/** Where a process or a call sets none of its own. */
const defaultTimeouts: UpstreamTimeouts = {
  // A provider that is up accepts a connection within a second, also from another continent.
  connectMs: 5_000,
  // Polls and submits of jobs are answered within seconds; a slower answer is a fault.
  headersMs: 30_000,
  // Between two pieces of an answer.
  idleBodyMs: 15_000,
  totalMs: 90_000,
};

/** A media reply holds a few URLs, so one near this size is a fault or an attack. */
const mediaJsonBytesMax = 4_000_000;

/** Lets every running task poll at the same time, but one channel cannot use up the process's file descriptors. */
const connectionsPerOriginMax = 512;
const streamsPerOriginMax = 4_096;

/** Keeps one connection pool for each upstream origin. A process creates it once. */
export function createUpstreamCaller(options: Partial<UpstreamTimeouts> = {}): UpstreamCaller {
  const timeouts = { ...defaultTimeouts, ...options };
  const agent = new Agent({
    connect: connectorSkippingContinue({ timeout: timeouts.connectMs }),
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.idleBodyMs,
    connections: connectionsPerOriginMax,
    pipelining: 1,
    // Below the idle limits of common servers, because a request on a socket that the server closes is `interrupted`.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
  });
  // Of its own, so that streams, which last for minutes, leave connections to short calls.
  const streams = new Agent({
    connect: connectorSkippingContinue({ timeout: timeouts.connectMs }),
    connections: streamsPerOriginMax,
    pipelining: 1,
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
  });
  return {
    call: (upstream, call) => callOnce(agent, timeouts, upstream, call),
    stream: (upstream, call) => streamOnce(streams, upstream, call),
    close: async () => void (await Promise.all([agent.destroy(), streams.destroy()])),
  };
}

function callOnce(
  agent: Agent,
  timeouts: UpstreamTimeouts,
  upstream: Upstream,
  call: UpstreamCall,
): Promise<CallOutcome> {
  const address = addressOf(`${upstream.baseUrl}${call.path}`);
  if (!address) return Promise.resolve({ kind: 'not_sent', detail: 'the base URL is not a URL' });
  const bytesMax = call.bodyBytesMax ?? mediaJsonBytesMax;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let answer: { status: number; headers: AnswerHeaders } | undefined;
    let ended = false;
    const chunks: Buffer[] = [];
    let bytes = 0;

    const end = (outcome: CallOutcome): void => {
      if (ended) return;
      ended = true;
      limit.stop();
      call.signal?.removeEventListener('abort', onAbort);
      resolve(outcome);
    };
    /** Ends the call before its answer is complete. */
    const stop = (why: string): void => {
      if (ended) return;
      if (answer)
        end({ kind: 'answered', ...answer, body: { unreadable: isTimeout(why) ? 'timed_out' : 'cut_short' } });
      else if (controller) end({ kind: 'interrupted', detail: why });
      else end({ kind: 'not_sent', detail: why });
      controller?.abort(new Error(why));
    };
    // The signal is a timer too, so an answer that has arrived is read first.
    const onAbort = () => void setImmediate(stop, 'ended by the caller');
    const limit = new SilenceTimer(() => stop('timeout')).start(call.timeoutMs ?? timeouts.totalMs);
    if (call.signal?.aborted) return onAbort();
    call.signal?.addEventListener('abort', onAbort, { once: true });

    const handler: Dispatcher.DispatchHandler = {
      // Called before the request is written. Until then nothing was sent.
      onRequestStart(started) {
        if (call.signal?.aborted) stop('ended by the caller');
        if (ended) started.abort(new Error('ended before it was sent'));
        else controller = started;
      },
      onResponseStart(_controller, status, headers) {
        if (status >= 200) answer = { status, headers: readHeaders(headers) };
      },
      onResponseData(_controller, chunk) {
        bytes += chunk.length;
        if (bytes <= bytesMax) chunks.push(chunk);
        else if (answer) {
          end({ kind: 'answered', ...answer, body: { unreadable: 'too_large' } });
          controller?.abort(new Error('answer too large'));
        }
      },
      onResponseEnd() {
        if (!answer) return stop('no status');
        const encoding = answer.headers['content-encoding'] ?? 'identity';
        const [first] = chunks;
        const whole = chunks.length === 1 && first ? first : Buffer.concat(chunks);
        const body: AnswerBody = encoding === 'identity' ? parse(whole, call.keepsDigits) : { unreadable: 'encoded' };
        end({ kind: 'answered', ...answer, body });
      },
      onResponseError(_controller, error) {
        stop(errorNameOf(error));
      },
    };
    const settings = { headersTimeout: call.headersMs ?? timeouts.headersMs };
    sendRequest({ address, upstream, call }, settings, (request) => {
      if (!ended) agent.dispatch(request, handler);
    })?.catch(reject);
  });
}

/** The reasons with which `callOnce` or undici ends a call that takes too long. The caller's signal is always a timeout. */
const timeouts: ReadonlySet<string> = new Set([
  'timeout',
  'ended by the caller',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** Whether the detail of an outcome says that our time for the call ran out. */
export const isTimeout = (detail: string): boolean => timeouts.has(detail);
