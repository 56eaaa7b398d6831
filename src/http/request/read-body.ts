import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parse as parseContentType } from 'content-type';
import { GatewayError } from '../../domain/errors.ts';
import type { JsonObject, JsonValue } from '../../domain/json.ts';
import type { Share } from '../../platform/fair-budget.ts';
import { SilenceTimer } from '../../platform/silence-timer.ts';
import type { AppContext } from '../context.ts';
import { contentCodingOf, unpack, type ContentCoding } from './content-coding.ts';
import { createJsonCounter } from './count-json.ts';
import { readText } from './read-text.ts';

/** No request has as many, and validation takes seconds for hundreds of thousands. */
const FIELDS_MAX = 10_000;

/**
 * The slowest body: a client that sends less in each window is cut off, long before its whole time is over. The window is long
 * enough for a lost packet on a mobile line, and short enough that stalled bodies do not add up.
 */
const BYTES_PER_SECOND_MIN = 1_000;
const RATE_WINDOW_SECONDS = 5;

/** A larger body takes turns of its own kind (`createBodyTurns`). */
export const HUGE_BYTES = 4_000_000;

/** From this size on, a body is parsed and checked in several turns of the event loop. */
const LARGE_CHARACTERS = 1_000_000;

/** The client disconnected while its request was still arriving. There is no answer and no error to log. */
export class ClientGone extends Error {}

export interface BodyLimits {
  maxBytes: number;
  /** How long the body may take, or each `stretchBytes` of it, so that a large one needs no faster line than a small one. */
  timeoutMs: number;
  stretchBytes?: number;
  /** The memory that the body takes as it arrives. */
  share: Share;
  /**
   * A body that says that it is longer takes its memory before it is read. If there is none, nothing of it is read, where many that arrive at
   * the same time would each be read in part.
   */
  reservedFromBytes?: number;
}

export interface JsonLimits extends BodyLimits {
  depthMax: number;
  /** Whether the body may be compressed. `maxBytes` is then the limit on what it unpacks to, too. */
  mayBeCompressed: boolean;
  /** Called before a body that has arrived is unpacked or parsed. */
  beforeParse?: (arrived: { bytes: number; isCompressed: boolean }) => Promise<void>;
  /** Called when a compressed body shows that it has more than `HUGE_BYTES`, though it arrived with less. */
  beforeHuge?: () => Promise<void>;
}

/**
 * Reads a request body: one JSON object in UTF-8, at most `maxBytes` long, with at most what `createJsonCounter` lets pass and 10,000
 * fields in each object. The result is safe to store and to merge: no NUL, no lone surrogate, no infinite number, no key `__proto__`. Of equal keys the last
 * wins.
 *
 * Throws `GatewayError` `unsupported_media_type`, `payload_too_large`, `request_timeout`, `overloaded` or `invalid_json`, and
 * `ClientGone`.
 */
export async function readJsonBody(ctx: AppContext, limits: JsonLimits): Promise<JsonObject> {
  const coding = contentCodingOf(ctx, limits.mayBeCompressed ? 'compressed' : 'plain');
  demandJsonType(ctx.req);
  const arrived: Buffer[] = [];
  const count = createJsonCounter(limits.depthMax);
  const take = (chunk: Buffer): void => {
    if (coding === null) count(chunk);
    arrived.push(chunk);
  };
  await receiveBody(ctx, limits, { what: 'body', take });
  const bytes = arrived.reduce((sum, { length }) => sum + length, 0);
  await limits.beforeParse?.({ bytes, isCompressed: coding !== null });
  if (bytes === 0) throw invalid('The body is empty; a JSON object is expected.');
  const text = await readText(coding === null ? arrived : await unpackWithin(limits, arrived, coding));
  if (text === null) throw invalid('The body is not valid UTF-8.');
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw invalid('The body is not valid JSON.', cause);
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalid('The body must be a JSON object.');
  // Valid UTF-8 has no surrogates and valid JSON no raw NUL, so only a \u escape can produce one.
  walk(value, text.includes('\\u'));
  // To parse a large one takes as long as what its handler does first.
  if (text.length > LARGE_CHARACTERS) await nextTurn();
  return value;
}

/**
 * What a compressed body contains. Each piece takes its memory as if it had arrived, and what was compressed gives its own back. One that shows to
 * be huge gives everything back and is unpacked again when it has its turn, so that those that wait hold no more than arrived.
 */
async function unpackWithin(limits: JsonLimits, packed: readonly Buffer[], coding: ContentCoding): Promise<Buffer[]> {
  const packedBytes = packed.reduce((sum, { length }) => sum + length, 0);
  let pieces = packedBytes > HUGE_BYTES ? null : await unpackUpTo(limits, packed, coding, HUGE_BYTES);
  if (!pieces) {
    // One that arrived with as much waited for this turn already.
    if (packedBytes <= HUGE_BYTES) await limits.beforeHuge?.();
    pieces = await unpackUpTo(limits, packed, coding, limits.maxBytes);
  }
  if (!pieces) throw bodyTooLarge('unpacked body', limits.maxBytes);
  limits.share.add(-packedBytes);
  return pieces;
}

/** Null, with nothing taken, if it is more than `bytesMax`. */
async function unpackUpTo(
  { share, depthMax }: JsonLimits,
  packed: readonly Buffer[],
  coding: ContentCoding,
  bytesMax: number,
): Promise<Buffer[] | null> {
  const pieces: Buffer[] = [];
  const count = createJsonCounter(depthMax);
  let bytes = 0;
  const isWhole = await unpack(packed, coding, (piece) => {
    if (bytes + piece.length > bytesMax) return false;
    share.take(piece.length);
    bytes += piece.length;
    count(piece);
    pieces.push(piece);
    return true;
  });
  if (isWhole) return pieces;
  share.add(-bytes);
  return null;
}

/** The key that could change a prototype when objects are merged. `constructor` and `prototype` are keys like any other: JSON has them as own ones. */
const FORBIDDEN_KEY = '__proto__';
/** The names that a form, whose fields become keys of nested objects, must not have. */
export const forbiddenKeys = new Set([FORBIDDEN_KEY, 'constructor', 'prototype']);

function walk(value: JsonValue, checkStrings: boolean): void {
  if (typeof value === 'string') {
    if (checkStrings) demandStorable(value);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw invalid('A number is too large.');
  } else if (Array.isArray(value)) {
    for (const item of value) walk(item, checkStrings);
  } else if (typeof value === 'object' && value !== null) {
    const keys = Object.keys(value);
    if (keys.length > FIELDS_MAX) throw invalid(`A JSON object may have at most ${FIELDS_MAX} fields.`);
    for (const key of keys) {
      if (key === FORBIDDEN_KEY)
        throw new GatewayError('invalid_json', { message: `The key ${key} is not accepted.`, param: key });
      if (checkStrings) demandStorable(key);
      const member = value[key];
      if (member !== undefined) walk(member, checkStrings);
    }
  }
}

/** Throws `invalid_json`. PostgreSQL stores neither (22021, 22P05), and a lone surrogate cannot be sent upstream as UTF-8. */
export function demandStorable(text: string): void {
  if (text.includes('\0') || !text.isWellFormed())
    throw invalid('Strings must not contain NUL characters or lone surrogates.');
}

function demandJsonType(request: IncomingMessage): void {
  const { type, parameters } = parseContentType(request.headers['content-type'] ?? '');
  const charset = parameters['charset']?.toLowerCase() ?? 'utf-8';
  if (type.toLowerCase() !== 'application/json' || (charset !== 'utf-8' && charset !== 'utf8')) {
    throw new GatewayError('unsupported_media_type', {
      message: 'The Content-Type must be application/json in UTF-8.',
    });
  }
}

interface Receiver {
  /** What must not have more than `maxBytes`. */
  what: string;
  take: (chunk: Buffer) => void;
  /** The bytes of the body beside those of `what`. */
  extraBytes?: number;
}

/**
 * Passes every chunk of a body to `take`, after its bytes were taken from the memory. Call it once the headers are accepted, because it
 * answers `Expect: 100-continue`, and a body that will be refused must not be invited. Throws `payload_too_large`, `overloaded`, what
 * `take` throws, and what `drainRequest` throws.
 */
export async function receiveBody(
  ctx: AppContext,
  { maxBytes, share, reservedFromBytes = Infinity, ...time }: BodyLimits,
  { what, take, extraBytes = 0 }: Receiver,
): Promise<void> {
  let left = maxBytes + extraBytes;
  const declared = Number(ctx.req.headers['content-length'] ?? 0);
  if (declared > left) throw bodyTooLarge(what, maxBytes);
  const isReserved = declared > reservedFromBytes;
  if (isReserved) share.take(declared);
  if (ctx.get('expect').toLowerCase() === '100-continue') ctx.res.writeContinue();
  await drainRequest(ctx.req, time, (chunk) => {
    left -= chunk.length;
    if (left < 0) throw bodyTooLarge(what, maxBytes);
    if (!isReserved) share.take(chunk.length);
    take(chunk);
  });
}

/**
 * Passes every chunk to `take` until the body ends. Does not destroy the request, because the answer must still be sent. Rejects
 * with the error of `take`, `ClientGone`, or `request_timeout` if the body needs longer than `timeoutMs`, or arrives too slowly.
 */
export function drainRequest(
  request: IncomingMessage,
  { timeoutMs, stretchBytes = Infinity }: Pick<BodyLimits, 'timeoutMs' | 'stretchBytes'>,
  take: (chunk: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let windowBytes = 0;
    let stretch = 0;
    const stop = (settle: () => void): void => {
      limit.stop();
      pace.stop();
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone).pause();
      // A connection that breaks after the listeners are removed still emits an error.
      request.on('error', () => undefined);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      windowBytes += chunk.length;
      stretch += chunk.length;
      if (stretch >= stretchBytes) {
        stretch = 0;
        limit.heard();
      }
      try {
        take(chunk);
      } catch (error) {
        stop(() => reject(error instanceof Error ? error : new Error(String(error))));
      }
    };
    const onEnd = (): void => stop(resolve);
    const onGone = (cause?: Error): void => stop(() => reject(new ClientGone('The client disconnected', { cause })));
    const limit = new SilenceTimer(() => stop(() => reject(new GatewayError('request_timeout'))));
    const pace = new SilenceTimer(() => {
      if (windowBytes < BYTES_PER_SECOND_MIN * RATE_WINDOW_SECONDS) return stop(() => reject(tooSlow()));
      windowBytes = 0;
      pace.start(RATE_WINDOW_SECONDS * 1_000);
    });
    if (request.destroyed) return onGone();
    // A short body has arrived as a whole by now and needs no limits.
    if (!request.complete) {
      limit.start(timeoutMs);
      pace.start(RATE_WINDOW_SECONDS * 1_000);
    }
    request.on('end', onEnd).on('error', onGone).on('close', onGone).on('data', onData).resume();
  });
}

const tooSlow = (): GatewayError =>
  new GatewayError('request_timeout', {
    message: `The body arrived too slowly: at least ${BYTES_PER_SECOND_MIN} bytes a second are expected.`,
  });

export const bodyTooLarge = (what: string, maxBytes: number): GatewayError =>
  new GatewayError('payload_too_large', { message: `The ${what} must have at most ${maxBytes} bytes.` });

const invalid = (message: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_json', { message, cause });
