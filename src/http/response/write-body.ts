import { Readable } from 'node:stream';
import type { AppContext } from '../context.ts';
import { writeJson } from './write-json.ts';

/** From this size on, an answer counts as large. Smaller ones fit into the kernel's buffer of the connection. */
export const LARGE_BYTES = 16_384;

/**
 * Turns an object into JSON, and returns the length of the answer in bytes; 0 for a stream and for no body. A large text becomes bytes: as a
 * string it would be in the heap and a second time in the socket. Done here and not by Koa, so that a body that cannot be serialised is still an error in the
 * right dialect.
 */
export async function writeBody(ctx: AppContext): Promise<number> {
  const body: unknown = ctx.body;
  if (Buffer.isBuffer(body)) return body.length;
  if (body === undefined || body === null || body instanceof Readable) return 0;
  if (typeof body === 'object') {
    const text = await writeJson(body);
    if (!ctx.response.get('content-type')) ctx.type = 'json';
    ctx.body = text;
  }
  const text: unknown = ctx.body;
  if (typeof text !== 'string') return 0;
  const length = Buffer.byteLength(text);
  if (length >= LARGE_BYTES) ctx.body = Buffer.from(text);
  return length;
}
