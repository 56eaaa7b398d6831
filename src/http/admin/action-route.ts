import { z } from 'zod';
import type { Deps } from '../../deps.ts';
import { answerOnce } from '../../services/operators/answer-once.ts';
import type { ReadResource } from '../../services/operators/based-on.ts';
import { actorOf } from '../../domain/operators/admin-access.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { snakeCase, type JsonObject } from '../../domain/json.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { includesRole } from '../../domain/operators/role.ts';
import { isVersioned, sourceOf, type Action, type ActionRoute } from '../../admin/define-action.ts';
import { reportType, type Report } from '../../admin/report.ts';
import type { ActionDeps, OpenDeps } from '../../admin/action-deps.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';
import { adminOf, type AppContext } from '../context.ts';
import { readIdempotencyKey } from '../request/idempotency-key.ts';
import { preferredType } from '../request/preferred-type.ts';
import type { Route } from '../route.ts';
import { actionDescription } from './action-description.ts';
import { adminPrefix } from './admin-prefix.ts';
import { actionRefusalOf } from './refusal-of.ts';

export type ActionRouteDeps = Pick<Deps, 'db' | 'sealer'> & {
  /** Runs something on the primary. With `resource` it changes that only if that still has its version, else it fails as `version_conflict`. */
  write: <T>(work: (open: OpenDeps) => Promise<T>, resource?: ReadResource) => Promise<T>;
  /** Runs what only reads, with dependencies that may read a replica. */
  read: <T>(work: (open: OpenDeps) => Promise<T>) => Promise<T>;
  /** The version of a resource, on which a change of it can be based; null if there is no such resource. */
  versionOf: (db: ActionDeps['database']['db'], resource: Omit<ReadResource, 'version'>) => Promise<string | null>;
};

/** The route of an action: inputs of the path, and the others in the query of a GET or else in a JSON body. */
export function actionRoute(name: string, action: Action, route: ActionRoute, deps: ActionRouteDeps): Route {
  const { method, path, role } = route;
  const fields = bodyFields(action, route);
  const schemas = Object.fromEntries([...fields].map(([field, name]) => [field, action.input[name] ?? z.unknown()]));
  const isRead = method === 'GET';
  return {
    ...actionDescription(name, action, route, schemas),
    auth: 'admin',
    role,
    method,
    dialect: 'openai',
    path: `${adminPrefix}${path}`,
    body: isRead ? 'none' : 'json_if_any',
    query: isRead ? schemas : {},
    // What the command line reads from a file or from stdin: a catalog, or a key in PEM or JSON.
    linesIn: [...fields].flatMap(([field, name]) => (sourceOf(action.input[name] ?? z.unknown()) ? [field] : [])),
    ...(isRead && { isList: true }),
    async handler(ctx) {
      const input = readInput(ctx, fields, isRead);
      demandOwnerInput(ctx, route, input);
      const version = isRead ? undefined : readIfMatch(ctx, isVersioned(action, route));
      const inputs = {
        ...input,
        ...(version !== undefined && 'version' in action.input && { version }),
        ...ctx.params,
      };
      const prepared = action.prepare(inputs);
      if (!prepared.ok) throw invalidInput(prepared.issues, inputs);
      const resource = route.resource && { kind: route.resource, id: Object.values(ctx.params).join() };
      const run = (open: OpenDeps) => prepared.run(open, actorOf(adminOf(ctx)));
      const show = async (open: OpenDeps) => {
        // Before the document: the version of a change in between would be newer than what is shown.
        const shown = resource && (await deps.versionOf((await open('database')).db, resource));
        if (shown != null) setEtag(ctx, shown);
        return run(open);
      };
      const work = () =>
        (isRead
          ? (route.primaryOnly ? deps.write : deps.read)(show)
          : deps.write(run, version !== undefined && resource ? { ...resource, version } : undefined)
        ).catch((error: unknown) => {
          throw actionRefusalOf(error);
        });
      answer(ctx, isRead ? await work() : await onceByKey(deps, ctx, work));
    },
  };
}

/** The version of `If-Match` (RFC 9110 §13.1.1); undefined without the header, and for `*`, which any version matches. */
function readIfMatch(ctx: AppContext, isSupported: boolean): string | undefined {
  const header = ctx.get('if-match').trim();
  if (header === '') return undefined;
  const param = 'If-Match';
  if (!isSupported)
    throw new GatewayError('unsupported_parameter', { param, message: 'What this route changes has no version.' });
  if (header === '*') return undefined;
  // A proxy that compresses an answer makes its strong tag a weak one.
  const version = /^(?:W\/)?"([\x21\x23-\x7e]+)"$/.exec(header)?.[1];
  if (version !== undefined) return version;
  throw new GatewayError('invalid_value', { param, message: 'If-Match must be the ETag of one GET, or *.' });
}

const setEtag = (ctx: AppContext, version: string): void => ctx.set('ETag', `"${version}"`);

/** With an Idempotency-Key, the report of the first request with that key. */
async function onceByKey(deps: ActionRouteDeps, ctx: AppContext, work: () => Promise<Report>): Promise<Report> {
  const key = readIdempotencyKey(ctx);
  if (key === null) return work();
  const fingerprint = sha256Hex(canonicalJson({ method: ctx.method, path: ctx.path, body: ctx.request.body ?? {} }));
  const { principalId } = adminOf(ctx);
  const { answer: text, isReplay } = await answerOnce(deps, { principalId, key, fingerprint }, async () =>
    JSON.stringify(await work()),
  );
  if (isReplay) ctx.set('Idempotent-Replayed', 'true');
  // It is the text of a report, which only this process's own release and the one before it have written.
  return JSON.parse(text) as Report;
}

/** The inputs that are not in the path, by their names in snake_case. */
export function bodyFields(action: Action, { path }: ActionRoute): Map<string, string> {
  const names = Object.keys(action.input).filter((name) => !path.split('/').includes(`:${name}`));
  return new Map(names.map((name) => [snakeCase(name), name]));
}

function readInput(ctx: AppContext, fields: ReadonlyMap<string, string>, isRead: boolean): Record<string, unknown> {
  const all = isRead
    ? [...new URLSearchParams(ctx.querystring)].filter(([, value]) => value !== '')
    : Object.entries(ctx.request.body ?? {});
  return Object.fromEntries(
    all.map(([field, value]) => {
      const name = fields.get(field);
      if (name !== undefined) return [name, value];
      const param = quoted(field);
      const message = `The field ${param} is not supported here.${didYouMean(field, [...fields.keys()])}`;
      throw new GatewayError('unsupported_parameter', { param, message });
    }),
  );
}

function demandOwnerInput(ctx: AppContext, { ownerInput = [] }: ActionRoute, input: Record<string, unknown>): void {
  const name = ownerInput.find((one) => input[one] !== undefined);
  if (name === undefined || includesRole(adminOf(ctx).role, 'owner')) return;
  const message = `The field ${snakeCase(name)} needs the role owner. You have the role ${adminOf(ctx).role}.`;
  throw new GatewayError('role_not_allowed', { message, param: snakeCase(name) });
}

/** The messages of inputs continue a sentence that begins with the name. */
function invalidInput([issue]: readonly z.core.$ZodIssue[], input: Record<string, unknown>): GatewayError {
  const [first, ...inner] = issue?.path ?? [];
  const param = quoted([snakeCase(String(first)), ...inner.map(String)].join('.'));
  if (inner.length === 0 && input[String(first)] === undefined) {
    return new GatewayError('missing_parameter', { param, message: `${param} is required.` });
  }
  return new GatewayError('invalid_value', { param, message: `${param} ${issue?.message ?? 'is not accepted'}.` });
}

function answer(ctx: AppContext, report: Report): void {
  const { document, refused = false, pending = false, nextCursor } = report;
  ctx.status = pending ? 202 : 200;
  if ('version' in document && typeof document.version === 'string') setEtag(ctx, document.version);
  if (preferredType(ctx, ['application/json', reportType]) === reportType) {
    ctx.set('Content-Type', reportType);
    ctx.body = { document, text: report.text, refused };
    return;
  }
  const page: JsonObject =
    nextCursor === undefined ? {} : { object: 'list', has_more: nextCursor !== null, next_cursor: nextCursor };
  ctx.body = { ...page, ...document };
}
