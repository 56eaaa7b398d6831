import { z } from 'zod';
import type { Deps } from '../../deps.ts';
import { LedgerEntrySchema, LedgerList } from '../../schemas/ledger-entry.ts';
import { OwnKey, RotatedOwnKey } from '../../schemas/own-key.ts';
import { tokenParts } from '../../schemas/token-parts.ts';
import { UsageSchema } from '../../schemas/usage.ts';
import { listLedgerEntries } from '../../services/ledger/list-ledger-entries.ts';
import { PlaygroundKeyRefusal } from '../../services/projects/playground-key-refusal.ts';
import { clientRotations, rotateKey } from '../../services/projects/rotate-key.ts';
import { showKey } from '../../services/projects/show-key.ts';
import { summarizeUsage } from '../../services/ledger/summarize-usage.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { usageGroups } from '../../domain/ledger/usage-group.ts';
import { isTimeZone, usageRange } from '../../domain/ledger/usage-range.ts';
import { entryPosition } from '../../domain/time-position.ts';
import { keyOf, type AppContext } from '../context.ts';
import { json } from '../description.ts';
import { toCsv } from '../response/csv.ts';
import { createListCodec, pageQuery } from '../request/list-codec.ts';
import { preferredType } from '../request/preferred-type.ts';
import { queryParam, queryText, queryTime } from '../request/query.ts';
import { endpoint, type Route } from '../route.ts';
import { anyScope, getRow, postRow, readScope } from './common-rows.ts';

type AccountDeps = Pick<Deps, 'config' | 'db'>;

const tag = 'Account';
const fileName = { 'Content-Disposition': 'Of a table: the name of its file.' };

/** What a key may do and has left, and what the project spent. */
export const accountRoutes = (deps: AccountDeps): Route[] => [
  endpoint({
    ...getRow('/api/v1/key', anyScope),
    tag,
    summary: 'Read the key',
    description: 'What the key of the request may do and has left, at this moment.',
    answers: { 200: { description: 'The key.', content: json(OwnKey) } },
    handler: (ctx) => showKey(deps, keyOf(ctx).keyId),
  }),
  endpoint({
    ...postRow('/api/v1/key/rotate', anyScope),
    tag,
    summary: 'Rotate the key',
    description: 'Gives the key another secret. The previous one works for another day. At most ten times a day.',
    answers: { 200: { description: 'The new secret.', content: json(RotatedOwnKey) } },
    handler: (ctx) => rotateOwnKey(deps, ctx),
  }),
  usageRoute(deps),
  ledgerRoute(deps),
];

/**
 * `POST /api/v1/key/rotate`: the new secret, which is shown only here, and until when the previous ones work. A key of the playground
 * is refused: its secret would outlive the session.
 */
async function rotateOwnKey(deps: AccountDeps, ctx: AppContext): Promise<z.input<typeof RotatedOwnKey>> {
  const { keyId } = keyOf(ctx);
  const { apiKey, previousUntil } = await rotateKey(deps, { keyId, actor: keyId, ...clientRotations }).catch(
    (error: unknown) => {
      if (!(error instanceof PlaygroundKeyRefusal)) throw error;
      throw new GatewayError('scope_not_allowed', { message: error.message });
    },
  );
  return { object: 'key', key_id: keyId, api_key: apiKey, previous_until: previousUntil };
}

const groups = queryParam(
  'Any of `day`, `model` and `key`, with commas; all if absent.',
  z
    .string()
    .meta({ pattern: '^((day|model|key)(,(day|model|key))*)?$' })
    .transform((text, context) => {
      const names = text.split(',');
      const wrong = names.find((name) => !usageGroups.some((group) => group === name));
      if (wrong !== undefined) context.addIssue(`${quoted(wrong)} is not one of ${usageGroups.join(', ')}`);
      return usageGroups.filter((group) => names.includes(group));
    }),
);

const timeZone = queryParam(
  'The time zone that cuts the days; UTC if absent.',
  z
    .string()
    .meta({ pattern: '^[\\w+\\-/]{0,64}$' })
    .transform((zone, context) => {
      if (!isTimeZone(zone)) context.addIssue(`${quoted(zone)} is not a time zone such as UTC or Europe/Berlin`);
      return zone;
    }),
);

const usageRoute = (deps: AccountDeps): Route =>
  endpoint({
    ...getRow('/api/v1/usage', readScope),
    isList: true,
    tag,
    summary: 'Add up the usage',
    description:
      "What the project's requests that ended in a range came to, exact at the time of the answer. With `Accept: text/csv` the rows are a table, without the total.",
    query: {
      from: queryTime('30 days before `to` if absent.'),
      to: queryTime('The end, not included; now if absent. At most 92 days after `from`.'),
      group_by: groups,
      tz: timeZone,
      key_id: queryText('Of this key.'),
    },
    answers: {
      200: { description: 'The sums.', content: { ...json(UsageSchema), 'text/csv': z.string() }, sometimes: fileName },
    },
    async handler(ctx, { from, to, group_by: groups = [...usageGroups], tz: timeZone = 'UTC', key_id: keyId }) {
      const range = usageRange({ from, to }, Date.now());
      const { projectId } = keyOf(ctx);
      const usage = await summarizeUsage(deps, { projectId, keyId, ...range, timeZone, groups });
      return wantsTable(ctx) ? sendTable(ctx, 'usage.csv', toCsv(usageColumns, usage.data)) : usage;
    },
  });

const usageColumns = ['day', 'model', 'key_id', ...UsageSchema.shape.total.keyof().options] as const;

const wantsTable = (ctx: AppContext): boolean => preferredType(ctx, ['application/json', 'text/csv']) === 'text/csv';

/** The name is that of the file that a browser or a script saves. */
function sendTable(ctx: AppContext, fileName: string, table: string): void {
  ctx.attachment(fileName);
  ctx.type = 'text/csv; charset=utf-8';
  ctx.body = table;
}

const codec = createListCodec('ledger', entryPosition);

const ledgerRoute = (deps: AccountDeps): Route =>
  endpoint({
    ...getRow('/api/v1/ledger', readScope),
    isList: true,
    tag,
    summary: 'List the ledger',
    description: "What moved the project's credits, newest first. With `Accept: text/csv` a page is a table.",
    query: {
      ...pageQuery,
      key_id: queryText('Of this key.'),
      task_id: queryText('About this task.'),
      request_id: queryText('About the chat with this `x-request-id`.'),
    },
    answers: {
      200: {
        description: 'A page of entries.',
        content: { ...json(LedgerList), 'text/csv': z.string() },
        sometimes: { ...fileName, Link: 'Of a table: the next page, as `<…>; rel="next"`.' },
      },
    },
    async handler(ctx, query) {
      const { task_id: taskId, request_id: requestId, key_id: keyId } = query;
      const filter = { projectId: keyOf(ctx).projectId, keyId, requestId: taskId ?? requestId };
      const page = codec.read(query);
      // No entry is about both.
      const isNone = taskId !== undefined && requestId !== undefined && taskId !== requestId;
      const entries = isNone ? { items: [], next: null } : await listLedgerEntries(deps, filter, page);
      const list = codec.write(entries);
      if (!wantsTable(ctx)) return list;
      if (list.next_cursor !== null) linkNext(ctx, list.next_cursor);
      return sendTable(ctx, 'ledger.csv', toCsv(ledgerCsvColumns, entries.items));
    },
  });

/** The parts of tokens stand behind all others. */
const ledgerCsvColumns = LedgerEntrySchema.keyof().options.toSorted(
  (a, b) => Number(a in tokenParts) - Number(b in tokenParts),
);

/** RFC 8288 */
function linkNext(ctx: AppContext, cursor: string): void {
  const query = new URLSearchParams(ctx.querystring);
  query.set('after', cursor);
  ctx.set('Link', `<${ctx.path}?${query.toString()}>; rel="next"`);
}
