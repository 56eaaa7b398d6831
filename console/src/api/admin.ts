import type { paths } from './admin-types.ts';
import { newIdempotencyKey, query, send, sendJson, type Call } from './request.ts';

const base = '/api/admin/v1';

type Method = Lowercase<NonNullable<Call['method']>>;

/** The paths of the admin API that take a method, without its prefix. */
export type PathOf<M extends Method> = {
  [Path in keyof paths]: Path extends `${typeof base}${infer Rest}`
    ? paths[Path] extends Record<M, { responses: unknown }>
      ? Rest
      : never
    : never;
}[keyof paths];

type Operation<M extends Method, Path extends string> = `${typeof base}${Path}` extends keyof paths
  ? paths[`${typeof base}${Path}`][M]
  : never;

/** What a request is answered if it is not refused. */
export type Answer<M extends Method, Path extends PathOf<M>> =
  Operation<M, Path> extends { responses: infer Responses } ? JsonOf<Responses[keyof Responses]> : never;
type JsonOf<Response> = Response extends { content: { 'application/json': infer Json } } ? Json : never;

/** The inputs of a request in its path and its query. */
export type Inputs<M extends Method, Path extends PathOf<M>> =
  Operation<M, Path> extends { parameters: { path?: infer InPath; query?: infer InQuery } }
    ? Declared<InPath> & Declared<InQuery>
    : never;
type Declared<Parameters> = [NonNullable<Parameters>] extends [never] ? unknown : NonNullable<Parameters>;

type Body<M extends Method, Path extends PathOf<M>> =
  Operation<M, Path> extends { requestBody?: infer RequestBody }
    ? NonNullable<RequestBody> extends { content: { 'application/json': infer Json } }
      ? Json
      : undefined
    : undefined;

/** A frozen gateway accepts a connection and never answers. After this time the page says that it is unreachable. */
const readMsMax = 30_000;

/** Reads a resource of the admin API. Fails as `unreachable` if there is no answer within half a minute. */
export const read = <Path extends PathOf<'get'>>(
  path: Path,
  inputs: Inputs<'get', Path>,
  signal?: AbortSignal,
): Promise<Answer<'get', Path>> => {
  const limit = AbortSignal.timeout(readMsMax);
  return sendJson(addressOf(path, { ...inputs }), { signal: signal ? AbortSignal.any([signal, limit]) : limit });
};

/** The same with the version, on which a change can be based, and with the time of the server, in unix seconds (0 if the answer has no date). */
export async function readVersioned<Path extends PathOf<'get'>>(path: Path, inputs: Inputs<'get', Path>) {
  const response = await send(addressOf(path, { ...inputs }), { signal: AbortSignal.timeout(readMsMax) });
  const resource = (await response.json()) as Answer<'get', Path>;
  const at = Math.floor(Date.parse(response.headers.get('date') ?? '') / 1_000) || 0;
  return { resource, version: response.headers.get('etag') ?? '', at };
}

/**
 * Changes something by the admin API. Each call except DELETE has an idempotency key of its own, so one press of a button acts once. With
 * `version` it fails as `version_conflict` if the thing has another one by then.
 */
export async function change<M extends Exclude<Method, 'get'>, Path extends PathOf<M>>(
  method: M,
  path: Path,
  inputs: Inputs<M, Path>,
  body?: Body<M, Path>,
  version?: string,
): Promise<Answer<M, Path>> {
  const isDelete = method === 'delete';
  return sendJson(addressOf(path, { ...inputs }), {
    method: toUpperCase(method),
    ...(!isDelete && { body: body ?? {} }),
    headers: {
      ...(!isDelete && { 'idempotency-key': newIdempotencyKey() }),
      ...(version !== undefined && { 'if-match': version }),
    },
  });
}

const toUpperCase = <M extends Method>(method: M) => method.toUpperCase() as Uppercase<M>;

/** The inputs that the path names stand in it, all others in the query. Those with empty values are left out. */
export function addressOf(path: string, inputs: Readonly<Record<string, unknown>>): string {
  const others = new Map(Object.entries(inputs));
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = others.get(name);
    others.delete(name);
    return typeof value === 'string' ? encodeURIComponent(value) : '';
  });
  return `${base}${filled}${query(Object.fromEntries(others))}`;
}
