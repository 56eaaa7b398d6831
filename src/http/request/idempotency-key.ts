import { GatewayError } from '../../domain/errors.ts';
import type { AppContext } from '../context.ts';
import { headerValues } from './credentials.ts';

/**
 * The `Idempotency-Key` header, 1 to 255 printable ASCII characters, bare or as a quoted string (IETF draft
 * "idempotency-key-header"). Null if none was sent. Throws `invalid_value` for anything else.
 */
export function readIdempotencyKey(ctx: AppContext): string | null {
  const headers = headerValues(ctx.req, 'idempotency-key');
  if (headers.length === 0) return null;
  if (headers.length > 1) throw invalid('Idempotency-Key was sent twice.');
  const text = headers.join('').trim();
  const quotedText = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text);
  const key = quotedText?.[1] !== undefined ? quotedText[1].replace(/\\(["\\])/g, '$1') : text;
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw invalid('Idempotency-Key must be 1 to 255 printable ASCII characters.');
  return key;
}

const invalid = (message: string) => new GatewayError('invalid_value', { message, param: 'Idempotency-Key' });
