import accepts from 'accepts';
import type { AppContext } from '../context.ts';

/**
 * The media type that the client's `Accept` prefers among those that the answer may have, the first one if it names none of them
 * (RFC 9110 §12.5.1). Parameters do not decide: `text/csv; charset=utf-8` and `text/csv; header=present` are `text/csv`. An answer may
 * differ by this header, so it is named in `Vary`.
 */
export function preferredType<Type extends string>(ctx: AppContext, offered: readonly [Type, ...Type[]]): Type {
  ctx.vary('Accept');
  const { accept } = ctx.req.headers;
  const plain = accept?.replace(parameter, (text, name: string) => (name.toLowerCase() === 'q' ? text : ''));
  const request = { headers: plain === undefined ? {} : { accept: plain } };
  const chosen = accepts(request as Parameters<typeof accepts>[0]).type([...offered]);
  return offered.find((type) => type === chosen) ?? offered[0];
}

/** One parameter of a media range, with its value as a token or in quotes. */
const parameter = /;\s*([^\s=;,"]+)\s*(?:=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]*))?/g;
