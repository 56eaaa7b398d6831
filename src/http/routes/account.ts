import type { PublicEntry } from '../../schemas/ledger-entry.ts';
import type { PublicUsage } from '../../schemas/usage.ts';
import { listLedgerEntries } from '../../services/projects/list-ledger-entries.ts';
import { PlaygroundKeyRefusal } from '../../services/projects/playground-key-refusal.ts';
import { clientRotations, rotateKey } from '../../services/projects/rotate-key.ts';
import { showKey } from '../../services/projects/show-key.ts';
import { summarizeUsage } from '../../services/projects/summarize-usage.ts';
import { GatewayError } from '../../domain/errors.ts';
import { scopes } from '../../domain/projects/scope.ts';
import { entryPosition } from '../../domain/time-position.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import { toCsv } from '../response/csv.ts';
import { createListCodec, pageQuery } from '../request/list-codec.ts';
import { preferredType } from '../request/preferred-type.ts';
import { queryText } from '../request/query.ts';
import { readUsageQuery } from '../request/usage-query.ts';
import type { Route } from '../route.ts';

type AccountDeps = Parameters<typeof rotateKey>[0];

/** What a key may do and has left, and what the project spent. */
export function accountRoutes(deps: AccountDeps): Route[] {
  const client = { auth: 'api_key', dialect: 'openai', body: 'none' } as const;
  const read = { ...client, scopes: ['read'], method: 'GET' } as const;
  return [
    { ...client, scopes, method: 'GET', path: '/api/v1/key', handler: showOwnKey(deps) },
    { ...client, scopes, method: 'POST', path: '/api/v1/key/rotate', handler: rotateOwnKey(deps) },
    {
      ...read,
      path: '/api/v1/usage',
      isList: true,
      query: ['from', 'to', 'group_by', 'tz', 'key_id'],
      handler: showUsage(deps),
    },
    {
      ...read,
      path: '/api/v1/ledger',
      isList: true,
      query: [...pageQuery, 'key_id', 'request_id', 'task_id'],
      handler: showLedger(deps),
    },
  ];
}

/** `GET /api/v1/key` */
const showOwnKey =
  (deps: AccountDeps): AppMiddleware =>
  async (ctx) => {
    ctx.body = await showKey(deps, keyOf(ctx).keyId);
  };

/**
 * `POST /api/v1/key/rotate`: the new secret, which is shown only here, and until when the previous ones work. A key of the playground
 * is refused: its secret would outlive the session.
 */
const rotateOwnKey =
  (deps: AccountDeps): AppMiddleware =>
  async (ctx) => {
    const { keyId } = keyOf(ctx);
    const { apiKey, previousUntil } = await rotateKey(deps, { keyId, actor: keyId, ...clientRotations }).catch(
      (error: unknown) => {
        if (!(error instanceof PlaygroundKeyRefusal)) throw error;
        throw new GatewayError('scope_not_allowed', { message: error.message });
      },
    );
    ctx.body = { object: 'key', key_id: keyId, api_key: apiKey, previous_until: previousUntil };
  };

/** `GET /api/v1/usage`: JSON, or its rows as `text/csv`, without the total. */
const showUsage =
  (deps: AccountDeps): AppMiddleware =>
  async (ctx) => {
    const usage = await summarizeUsage(deps, { projectId: keyOf(ctx).projectId, ...readUsageQuery(ctx, Date.now()) });
    if (wantsTable(ctx)) sendTable(ctx, 'usage.csv', toCsv(usageColumns, usage.data));
    else ctx.body = usage;
  };

const usageColumns: readonly (keyof PublicUsage['data'][number])[] = [
  'day',
  'model',
  'key_id',
  'requests',
  'succeeded',
  'failed',
  'credits',
  'input_tokens',
  'output_tokens',
];

const wantsTable = (ctx: AppContext): boolean => preferredType(ctx, ['application/json', 'text/csv']) === 'text/csv';

/** The name is that of the file that a browser or a script saves. */
function sendTable(ctx: AppContext, fileName: string, table: string): void {
  ctx.attachment(fileName);
  ctx.type = 'text/csv; charset=utf-8';
  ctx.body = table;
}

const codec = createListCodec('ledger', entryPosition);

/** `GET /api/v1/ledger`: JSON, or a page of `text/csv` with the next one in the header `Link`. */
const showLedger =
  (deps: AccountDeps): AppMiddleware =>
  async (ctx) => {
    const [taskId, requestId] = [queryText(ctx, 'task_id'), queryText(ctx, 'request_id')];
    const filter = { projectId: keyOf(ctx).projectId, keyId: queryText(ctx, 'key_id'), requestId: taskId ?? requestId };
    const pageRequest = codec.read(ctx);
    // No entry is about both.
    const isNone = taskId !== undefined && requestId !== undefined && taskId !== requestId;
    const page = isNone ? { items: [], next: null } : await listLedgerEntries(deps, filter, pageRequest);
    const list = codec.write(page);
    if (!wantsTable(ctx)) {
      ctx.body = list;
      return;
    }
    if (typeof list['next_cursor'] === 'string') linkNext(ctx, list['next_cursor']);
    sendTable(ctx, 'ledger.csv', toCsv(ledgerColumns, page.items));
  };

const ledgerColumns: readonly (keyof PublicEntry)[] = [
  'entry_id',
  'at',
  'kind',
  'credits',
  'balance_after',
  'task_id',
  'request_id',
  'key_id',
  'reference',
  'reason',
];

/** RFC 8288 */
function linkNext(ctx: AppContext, cursor: string): void {
  const query = new URLSearchParams(ctx.querystring);
  query.set('after', cursor);
  ctx.set('Link', `<${ctx.path}?${query.toString()}>; rel="next"`);
}
