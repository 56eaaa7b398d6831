import { GatewayError, quoted } from '../../domain/errors.ts';
import type { JsonValue } from '../../domain/json.ts';
import type { AppMiddleware } from '../context.ts';
import type { Route } from '../route.ts';

/**
 * Refuses, with 400 `invalid_value`, what no operator writes in a text: control characters, unpaired surrogates and, in the path and the
 * query, bytes that are not UTF-8. PostgreSQL stores neither NUL nor such surrogates, a terminal obeys control characters, and `%ff`
 * would be looked up as another text. Runs for every route of the admin API, after its body is read.
 */
export const demandPlainTexts =
  ({ linesIn = [], anyQuery }: Pick<Route, 'linesIn' | 'anyQuery'>): AppMiddleware =>
  (ctx, next) => {
    demandUtf8('path', ctx.path);
    for (const [name, value] of Object.entries(ctx.params)) demandPlain(name, value, control);
    // Another server writes such a query.
    if (!anyQuery) {
      demandUtf8('query', ctx.querystring);
      for (const [name, value] of new URLSearchParams(ctx.querystring)) demandPlain(name, value, control);
    }
    for (const [name, value] of Object.entries(ctx.request.body ?? {})) {
      walk(name, value, linesIn.includes(name) ? controlInLines : control);
    }
    return next();
  };

const control = /\p{Cc}/u;
/** Line ends and tabs are part of a text of several lines. */
const controlInLines = /[^\P{Cc}\t\r\n]/u;

/** The depth of a body is bounded where it is read. */
function walk(name: string, value: JsonValue | undefined, refused: RegExp): void {
  if (typeof value === 'string') return demandPlain(name, value, refused);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    demandPlain(name, key, refused);
    walk(name, member, refused);
  }
}

function demandPlain(name: string, text: string, refused: RegExp): void {
  if (text.isWellFormed() && !refused.test(text)) return;
  const param = quoted(name);
  const message = `${param} must not contain control characters, such as NUL, or unpaired surrogates.`;
  throw new GatewayError('invalid_value', { message, param });
}

function demandUtf8(part: string, text: string): void {
  try {
    decodeURIComponent(text);
  } catch (cause) {
    throw new GatewayError('invalid_value', { message: `The ${part} of the URL is not encoded UTF-8.`, cause });
  }
}
