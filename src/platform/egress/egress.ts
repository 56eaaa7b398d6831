import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { Agent, Client, errors, type Dispatcher } from 'undici';
import { addressMatcher, isPublicAddress } from './public-address.ts';
import { askNameservers, lookUpWithSystem, type ResolvedAddress } from './resolve-name.ts';

/** Why a URL is wanted: `callback` is called, `input` came from a client, `output` from a provider's reply. */
export type EgressPurpose = 'callback' | 'input' | 'output';

/**
 * Why a URL may not be reached. `malformed` not an absolute URL, or characters that have no place in one · `too_long`
 * over 2,048 characters · `scheme` not https · `userinfo` has a user or password · `port` not a listed one ·
 * `host` a name of the local network · `address` not public, by its text or by what its name resolves to.
 */
export type EgressReason = 'malformed' | 'too_long' | 'scheme' | 'userinfo' | 'port' | 'host' | 'address';

/** A URL that the guard turns down by its text. The caller answers `invalid_callback_url` or `invalid_url`. */
export class EgressRefusal extends Error {
  override readonly name = 'EgressRefusal';
  readonly reason: EgressReason;

  constructor(reason: EgressReason) {
    super(refusalSentences[reason]);
    this.reason = reason;
  }
}

/**
 * `dns` no address · `connect` no connection · `tls` no trust · `timeout` the total time ran out · `reset` the peer broke
 * off or spoke no HTTP · `too_large` more than allowed · `aborted` the caller's own signal.
 */
export type EgressFailure = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'too_large' | 'aborted';

export interface Blocked {
  kind: 'blocked';
  reason: EgressReason;
}

export interface Failed {
  kind: 'failed';
  reason: EgressFailure;
  /** Present when the peer had answered before the trouble began. */
  status?: number;
}

export interface Answer {
  kind: 'answer';
  /** Any status; a 3xx is an answer like another and is never followed. */
  status: number;
  /** Names in lower case; repeated headers joined by `, `. */
  headers: Record<string, string>;
  /** At most `maxBytes`, as sent: nothing is decompressed. */
  body: Buffer;
  /** Whether the peer had more to say than `maxBytes`. */
  truncated: boolean;
}

export interface FetchOptions {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** From name resolution to the last byte read. */
  timeoutMs: number;
  /** Of the answer's body. */
  maxBytes: number;
  /** Which ports are allowed; `callback` unless told. */
  purpose?: EgressPurpose;
}

export interface DownloadOptions {
  /** From name resolution to the last byte; a slow sink spends it too. */
  timeoutMs: number;
  /** More than this fails as `too_large`. */
  maxBytes: number;
  signal?: AbortSignal;
  /** Base URLs or origins whose host the operator configured: the guard does not judge them. */
  trustedOrigins?: readonly string[];
  /** Sent only to a trusted origin: a provider's credential must never follow a URL out of its reply. */
  trustedHeaders?: Record<string, string>;
}

export type Download<T> =
  | { kind: 'saved'; status: number; headers: Record<string, string>; value: T }
  /** Anything but a 2xx; its body is not read. */
  | { kind: 'answer'; status: number; headers: Record<string, string> };

export interface Egress {
  /** Judges a URL by its text, without DNS, and returns it normalised. Throws `EgressRefusal`. */
  checkUrl(text: string, options: { purpose: EgressPurpose }): string;
  /** One request, one answer. Never throws for what the peer does. */
  fetch(url: string, options: FetchOptions): Promise<Answer | Blocked | Failed>;
  /**
   * Hands a 2xx body to `sink`, piece by piece, and answers with what the sink returned. Asking for the next piece throws when
   * the peer, the cap or the clock has ended the transfer, so a sink that passes errors on keeps nothing. Throws only what the
   * sink threw of its own.
   */
  download<T>(
    url: string,
    options: DownloadOptions,
    sink: (body: AsyncIterable<Buffer>, about: { status: number; headers: Record<string, string> }) => Promise<T>,
  ): Promise<Download<T> | Blocked | Failed>;
  /** Ends the connections that are kept to trusted origins. */
  close(): Promise<void>;
  /** Sentences to log loudly at start; empty when the guard is whole. */
  warnings: readonly string[];
}

export interface EgressSettings {
  /** `EGRESS_ALLOW_CIDRS`: opened as literal addresses only, with any port and plain http. */
  allowCidrs: readonly string[];
  /** Ports beside 443 that a callback may use. */
  callbackPorts: readonly number[];
  /** All addresses of a name. Unless told, the system's for a trusted origin and the nameservers' for every other. */
  resolver?: (hostname: string) => Promise<ResolvedAddress[]>;
  /** `address:port` of the nameservers to ask. Those of /etc/resolv.conf unless told. */
  nameservers?: readonly string[];
  /** Opens a TCP connection to one of the checked addresses. */
  dial?: (addresses: ResolvedAddress[], port: number) => Socket;
  /** PEM roots trusted instead of the system's. */
  ca?: string;
}

/**
 * The egress guard: the one way out for every URL that a client or a provider's reply gave us (rules "Egress guard",
 * RFC 9110 for the rest). A URL is judged by its text, its name is resolved once, one address that is not public blocks it, and the
 * connection goes to an address that was judged, so a name that changes its mind gains nothing. No redirect is followed,
 * no proxy variable is read, no certificate is excused. A connection serves one exchange, but for those to trusted origins,
 * which are kept for the next.
 */
export function createEgress(settings: EgressSettings): Egress {
  const isAllowed = addressMatcher(settings.allowCidrs);
  const { nameservers } = settings;
  const dial = settings.dial ?? dialAny;

  const judge = (text: string, purpose: EgressPurpose): URL => {
    const ports = purpose === 'callback' ? settings.callbackPorts : [];
    return judgeUrl(text, { ports, isAllowed });
  };

  /** The addresses that may be connected to: all public, or the one allowed literal. */
  const checkedAddresses = async (
    url: URL,
    { trusted, ended }: { trusted: boolean; ended: AbortSignal },
  ): Promise<ResolvedAddress[]> => {
    const host = bareHost(url);
    const family = isIP(host);
    if (family !== 0) return [{ address: host, family }];
    const addressesOf = settings.resolver ?? (trusted ? lookUpWithSystem : askNameservers);
    const found = await addressesOf(host, { nameservers, ended }).catch((cause: unknown) => {
      throw new Interruption('dns', { cause });
    });
    if (found.length === 0) throw new Interruption('dns');
    if (!trusted && !found.every(({ address }) => isPublicAddress(address))) throw new EgressRefusal('address');
    return found.slice(0, ADDRESSES_MAX);
  };

  /** A connection to a checked address, with TLS where the URL says so. Throws an `EgressRefusal` or an `Interruption`. */
  const openSocket = async (
    url: URL,
    { trusted, ended }: { trusted: boolean; ended: AbortSignal },
  ): Promise<Socket> => {
    ended.throwIfAborted();
    const addresses = await unlessEnded(checkedAddresses(url, { trusted, ended }), ended);
    let socket = dial(addresses, Number(url.port) || (url.protocol === 'https:' ? 443 : 80));
    try {
      await connected(socket, 'connect', ended);
      if (url.protocol === 'https:') {
        const host = bareHost(url);
        socket = connectTls({
          socket,
          host,
          servername: isIP(host) === 0 ? host : '',
          ALPNProtocols: ['http/1.1'],
          // Said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED cannot switch it off.
          rejectUnauthorized: true,
          ...(settings.ca === undefined ? {} : { ca: settings.ca }),
        });
        await connected(socket, 'secureConnect', ended);
      }
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  };

  /** To trusted origins only: an operator named them, and providers that serve their own files serve many. */
  const kept = new Agent({
    pipelining: 1,
    maxHeaderSize: HEADERS_MAX_BYTES,
    connect: ({ protocol, host }, callback) => {
      const url = new URL(`${protocol}//${host ?? ''}`);
      openSocket(url, { trusted: true, ended: AbortSignal.timeout(KEPT_CONNECT_TIMEOUT_MS) }).then(
        (socket) => callback(null, socket),
        (error: unknown) => callback(asError(error), null),
      );
    },
  });

  /** Asks, hands the response to `use`, and closes everything that is not kept, whatever happened. */
  const exchange = async <T>(
    url: URL,
    request: Pick<FetchOptions, 'method' | 'headers' | 'body' | 'timeoutMs'> & {
      signal?: AbortSignal;
      trusted: boolean;
    },
    use: (response: Response) => Promise<T>,
  ): Promise<T | Blocked | Failed> => {
    const { timeoutMs, trusted } = request;
    const ender = createEnder(timeoutMs, request.signal);
    let status: number | undefined;
    let socket: Socket | undefined;
    let client: Client | undefined;
    let body: Readable | undefined;
    try {
      if (!trusted) {
        socket = await openSocket(url, { trusted, ended: ender.signal });
        client = clientOn(url, socket, timeoutMs);
      }
      const response = await unlessEnded(
        (client ?? kept).request({
          origin: url.origin,
          method: request.method ?? 'GET',
          path: `${url.pathname}${url.search}`,
          headers: { 'user-agent': 'Tollgate', ...request.headers, 'accept-encoding': 'identity' },
          body: request.body ?? null,
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
          signal: ender.signal,
        }),
        ender.signal,
      );
      ({ statusCode: status, body } = response);
      const headers = flatHeaders(response.headers);
      return await use({ status, headers, body, failureOf: (error) => failureOf(error, ender) });
    } catch (error) {
      if (error instanceof EgressRefusal) return { kind: 'blocked', reason: error.reason };
      if (error instanceof SinkError) throw error.cause;
      if (error instanceof errors.InvalidArgumentError) throw error;
      return { kind: 'failed', reason: failureOf(error, ender), ...(status === undefined ? {} : { status }) };
    } finally {
      ender.done();
      // A body that was not read to its end ends its connection too, also a kept one.
      body?.on('error', () => undefined).destroy();
      client?.destroy().catch(() => undefined);
      socket?.destroy();
    }
  };

  return {
    checkUrl: (text, { purpose }) => judge(text, purpose).href,

    async fetch(text, options) {
      const url = judged(() => judge(text, options.purpose ?? 'callback'));
      if (!(url instanceof URL)) return url;
      return exchange(url, { ...options, trusted: false }, async ({ status, headers, body }) => {
        const { bytes, truncated } = await readUpTo(body, options.maxBytes);
        return { kind: 'answer' as const, status, headers, body: bytes, truncated };
      });
    },

    async download<T>(
      text: string,
      options: DownloadOptions,
      sink: (body: AsyncIterable<Buffer>, about: { status: number; headers: Record<string, string> }) => Promise<T>,
    ) {
      const trusted = originsOf(options.trustedOrigins).has(originOf(text));
      const url = trusted ? new URL(text) : judged(() => judge(text, 'output'));
      if (!(url instanceof URL)) return url;
      const headers = trusted ? (options.trustedHeaders ?? {}) : {};
      return exchange(url, { ...options, headers, trusted }, async (response): Promise<Download<T> | Failed> => {
        const about = { status: response.status, headers: response.headers };
        if (response.status < 200 || response.status > 299) return { kind: 'answer', ...about };
        if (Number(response.headers['content-length'] ?? 0) > options.maxBytes) throw new Interruption('too_large');

        let trouble: EgressFailure | undefined;
        const body = capped(response.body, options.maxBytes, (error) => {
          trouble = response.failureOf(error);
        });
        try {
          const value = await sink(body, about);
          if (trouble === undefined) return { kind: 'saved', ...about, value };
        } catch (error) {
          // A sink that only passes on our own interruption is no failure of the sink.
          if (trouble === undefined) throw new SinkError('the sink failed', { cause: error });
        }
        return { kind: 'failed', reason: trouble, status: response.status };
      });
    },

    close: () => kept.destroy(),

    warnings:
      settings.allowCidrs.length === 0
        ? []
        : [
            `EGRESS_ALLOW_CIDRS opens ${settings.allowCidrs.join(', ')} to URLs that clients send. Development only: leave it empty in production.`,
          ],
  };
}

const URL_MAX_CHARACTERS = 2_048;
/** A name with more addresses than this is tried at the first ones only. All of them are judged. */
const ADDRESSES_MAX = 4;
const CONNECT_TIMEOUT_MS = 5_000;
/** Name, connection and TLS together. */
const KEPT_CONNECT_TIMEOUT_MS = 15_000;
/** Room for the 100 kB of headers that some receivers send with an honest status; more is `too_large`. */
const HEADERS_MAX_BYTES = 128 * 1_024;

const refusalSentences: Record<EgressReason, string> = {
  malformed: 'must be an absolute https URL',
  too_long: 'must have at most 2,048 characters',
  scheme: 'must be an https URL',
  userinfo: 'must not carry a user name or password',
  port: 'must use port 443 or another allowed port',
  host: 'must name a public host',
  address: 'must not lead to a private address',
};

/** The text-only judgement. What the parser made of the host decides, never the raw text (`0x7f.1` is 127.0.0.1). */
function judgeUrl(
  text: string,
  { ports, isAllowed }: { ports: readonly number[]; isAllowed: (ip: string) => boolean },
): URL {
  if (text.length > URL_MAX_CHARACTERS) throw new EgressRefusal('too_long');
  // The parser drops line ends and tabs, and reads `https:/x` and `https:\\x` as https://x; we take none of it.
  if (/[\s\p{Cc}\\]/u.test(text) || !text.isWellFormed() || !URL.canParse(text)) throw new EgressRefusal('malformed');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new EgressRefusal('scheme');
  if (!/^https?:\/\/[^/?#]/i.test(text)) throw new EgressRefusal('malformed');
  // The normalised text is what is stored and judged again when it is called.
  if (url.href.length > URL_MAX_CHARACTERS) throw new EgressRefusal('too_long');
  if (url.username !== '' || url.password !== '') throw new EgressRefusal('userinfo');

  const host = bareHost(url);
  if (isAllowed(host)) return url;
  if (url.protocol !== 'https:') throw new EgressRefusal('scheme');
  if (isIP(host) === 0 ? !isPublicName(host) : !isPublicAddress(host)) {
    throw new EgressRefusal(isIP(host) === 0 ? 'host' : 'address');
  }
  if (url.port !== '' && !ports.includes(Number(url.port))) throw new EgressRefusal('port');
  return url;
}

/** The host without the brackets of an IPv6 literal and without the root dot of a name. */
const bareHost = (url: URL): string =>
  url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname.replace(/\.$/, '');

const LOCAL_SUFFIXES = ['localhost', 'local', 'internal', 'home.arpa'];

function isPublicName(host: string): boolean {
  if (host.length > 253 || !/^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/.test(host)) return false;
  return !LOCAL_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}

function judged(judge: () => URL): URL | Blocked {
  try {
    return judge();
  } catch (error) {
    if (error instanceof EgressRefusal) return { kind: 'blocked', reason: error.reason };
    throw error;
  }
}

const originsOf = (urls: readonly string[] = []): Set<string> =>
  new Set(urls.map(originOf).filter((origin) => origin !== ''));

/** The http(s) origin, or empty for anything else. */
function originOf(text: string): string {
  if (!URL.canParse(text)) return '';
  const { origin, protocol } = new URL(text);
  return protocol === 'https:' || protocol === 'http:' ? origin : '';
}

interface Response {
  status: number;
  headers: Record<string, string>;
  body: Readable;
  failureOf(error: unknown): EgressFailure;
}

/** Our own reason for breaking off. */
class Interruption extends Error {
  readonly failure: EgressFailure;

  constructor(failure: EgressFailure, options?: ErrorOptions) {
    super(failure, options);
    this.failure = failure;
  }
}

/** Carries what a sink threw past the classification of the peer's faults. */
class SinkError extends Error {}

/** The total clock and the caller's signal as one: whichever comes first ends everything. */
function createEnder(timeoutMs: number, outer: AbortSignal | undefined) {
  const controller = new AbortController();
  const end = (failure: EgressFailure) => controller.abort(new Interruption(failure));
  const onOuterAbort = () => end('aborted');
  const timer = setTimeout(() => end('timeout'), timeoutMs);
  if (outer?.aborted) onOuterAbort();
  outer?.addEventListener('abort', onOuterAbort);
  const { signal } = controller;

  return {
    signal,
    done() {
      clearTimeout(timer);
      outer?.removeEventListener('abort', onOuterAbort);
    },
  };
}

/** For work that may not end when it is called off, such as the system's look-up: the wait ends, the work may go on. */
async function unlessEnded<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: (() => void) | undefined;
  const ended = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(asError(signal.reason));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([work, ended]);
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort);
  }
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

/** Node tries the addresses in turn and starts the next while one is slow (RFC 8305), asking no resolver. */
function dialAny(addresses: ResolvedAddress[], port: number): Socket {
  const [first] = addresses;
  if (!first) throw new Interruption('dns');
  if (addresses.length === 1) return connectTcp({ host: first.address, port });
  return connectTcp({
    host: 'checked.invalid',
    port,
    lookup: (_hostname, _options, callback) => callback(null, addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1_000,
  });
}

/** Waits for a socket's next stage. An error listener stays on it: a late reset must not bring the process down. */
async function connected(socket: Socket, stage: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  const failure: EgressFailure = stage === 'connect' ? 'connect' : 'tls';
  socket.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => settle(new Interruption(failure)), CONNECT_TIMEOUT_MS);
    const onError = (cause: unknown) => settle(new Interruption(failure, { cause }));
    const onClose = () => settle(new Interruption(failure));
    const onReady = () => settle();
    const onAbort = () => settle(asError(signal.reason));
    const settle = (error?: Error) => {
      clearTimeout(timer);
      socket.off('error', onError).off('close', onClose).off(stage, onReady);
      signal.removeEventListener('abort', onAbort);
      if (error) reject(error);
      else resolve();
    };
    socket.on('error', onError).on('close', onClose).on(stage, onReady);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}

/** An HTTP/1.1 client for one exchange on a connection that is already open. It never opens another. */
function clientOn(url: URL, socket: Socket, timeoutMs: number): Client {
  let given = false;
  return new Client(url.origin, {
    // Zero: the connection is closed after one answer, so nothing is ever shared between hosts.
    pipelining: 0,
    maxHeaderSize: HEADERS_MAX_BYTES,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: (_options, callback) => {
      const usable = !given && !socket.destroyed;
      given = true;
      // Never called back at once: undici ignores what happens while it is still asking.
      queueMicrotask(() => (usable ? callback(null, socket) : callback(new Interruption('reset'), null)));
    },
  });
}

function failureOf(error: unknown, { signal }: { signal: AbortSignal }): EgressFailure {
  if (signal.aborted) return signal.reason instanceof Interruption ? signal.reason.failure : 'aborted';
  if (error instanceof Interruption) return error.failure;
  if (error instanceof errors.HeadersOverflowError) return 'too_large';
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) return 'timeout';
  return 'reset';
}

const flatHeaders = (headers: Dispatcher.ResponseData['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );

async function readUpTo(body: Readable, maxBytes: number): Promise<{ bytes: Buffer; truncated: boolean }> {
  const chunks: Buffer[] = [];
  let room = maxBytes;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk.subarray(0, room));
    room -= chunk.length;
    if (room < 0) break;
  }
  return { bytes: Buffer.concat(chunks), truncated: room < 0 };
}

async function* capped(body: Readable, maxBytes: number, onTrouble: (error: unknown) => void): AsyncGenerator<Buffer> {
  let room = maxBytes;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      room -= chunk.length;
      if (room < 0) throw new Interruption('too_large');
      yield chunk;
    }
  } catch (error) {
    onTrouble(error);
    throw error;
  }
}
