import type { Page, PageRequest } from '../domain/page.ts';
import {
  earlierPosition,
  laterPosition,
  newestPosition,
  newestSecond,
  oldestPosition,
  readTimePosition,
  type TimePosition,
} from '../domain/time-position.ts';
import { GatewayError } from '../domain/errors.ts';
import { boundedPageOf, boundedText, OPERATOR_PAGE_BYTES_MAX, type Bounded } from './bounded-page.ts';
import { positionAt, timeOfPosition } from './time-position-sql.ts';

/** Which page of an operators' list is asked for, of which time and in which order. */
export interface ListRequest extends PageRequest {
  /** `newest`, `oldest`, or a column of the list, with `-` before it for the largest first. `newest` if absent. */
  sort?: string | undefined;
  /** Unix seconds: rows of this time or later. */
  createdFrom?: number | undefined;
  /** Unix seconds: rows of an earlier time. */
  createdBefore?: number | undefined;
}

/**
 * The columns that a list can be sorted by, each with the SQL of its text, number, time or span of time. A `slow` one reads another table for each
 * row.
 */
export type SortColumns = Readonly<
  Record<
    string,
    string | { text: string; slow: true } | { number: string; slow?: true } | { time: string } | { span: string }
  >
>;

/** Names a value of a statement and returns its parameter, such as `$3`. */
export type Bind = (value: unknown) => string;

interface OrderedRows {
  row: string;
  columns: SortColumns;
  /** The column of its time. */
  time: string;
  idType: 'text' | 'bigint';
}

interface Ordered {
  /** The condition for the rows behind the position and in the range of time. */
  where: string;
  order: string;
  /** What a row returns as `position`. */
  position: string;
}

/**
 * The order of a list whose rows have a text as `id` and a `created_at`, by which an index can be read. Rows of the same time or value are in
 * the order of their ids. Appends its values to `values`, those of the statement.
 */
export function inOrder(row: string, columns: SortColumns, request: ListRequest, values: unknown[]): Ordered {
  const { sort = 'newest' } = request;
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const id = `${row}.id`;
  if (isByTime(sort)) return inTimeOrder({ row, time: 'created_at', idType: 'text' }, { ...request, sort }, bind);
  const { value, isBehind, order, position } = sortedBy(columns, { ...request, sort }, bind);
  return {
    where: `${isBehind(value, id)} and ${isWithin(`${row}.created_at`, request, bind)}`,
    order: order(value, id),
    position: position(value, id),
  };
}

/** The order of a growing list by time alone. */
export function inTimeOrder(
  { row, time, idType }: Omit<OrderedRows, 'columns'>,
  request: ListRequest & { sort: TimeOrder },
  bind: Bind,
): Ordered {
  const by = { time: `${row}.${time}`, id: `${row}.id`, idType };
  return request.sort === 'newest' ? newestFirst(by, request, bind) : oldestFirst(by, request, bind);
}

/** The bound on the side of the start is part of the position, so that an index is read from there and not from the position of the page. */
function newestFirst(
  { time, id, idType }: ByTime,
  { after, createdFrom, createdBefore }: ListRequest,
  bind: Bind,
): Ordered {
  const start = earlierPosition(after === null ? newestPosition : readTimePosition(after), createdBefore);
  return {
    where: `(${time}, ${id}) < (${timeOfPosition(bind(start.microseconds))}, ${idOf(start, idType, bind)}) and ${time} >= ${timestampOf(bind(createdFrom ?? 0))}`,
    order: `${time} desc, ${id} desc`,
    position: positionAt(time, id),
  };
}

function oldestFirst(
  { time, id, idType }: ByTime,
  { after, createdFrom, createdBefore }: ListRequest,
  bind: Bind,
): Ordered {
  const start = laterPosition(after === null ? oldestPosition : readTimePosition(after), createdFrom);
  return {
    where: `(${time}, ${id}) > (${timeOfPosition(bind(start.microseconds))}, ${idOf(start, idType, bind)}) and ${time} < ${timestampOf(bind(createdBefore ?? newestSecond))}`,
    order: `${time} asc, ${id} asc`,
    position: positionAt(time, id),
  };
}

interface ByTime {
  time: string;
  id: string;
  idType: 'text' | 'bigint';
}

const idOf = ({ id }: TimePosition, idType: 'text' | 'bigint', bind: Bind): string =>
  idType === 'text' ? `${bind(id)}::text` : `${bind(Number(id))}::bigint`;

/** The condition that one of some texts has the text of a parameter in it, in any case. Null asks for all rows. */
export const hasText = (parameter: string, texts: readonly string[]): string =>
  `(${parameter}::text is null or ${texts.map((text) => `position(lower(${parameter}) in lower(${text})) > 0`).join(' or ')})`;

const timestampOf = (seconds: string): string => `to_timestamp(${seconds}::float8)`;

/** The condition that a time is in the range that is asked for, whose bounds are computed once and not for each row. */
export const isWithin = (time: string, { createdFrom, createdBefore }: ListRequest, bind: Bind): string =>
  `${time} >= (select ${timestampOf(bind(createdFrom ?? 0))}) and ${time} < (select ${timestampOf(bind(createdBefore ?? newestSecond))})`;

/**
 * The order by a column. Rows without a value are first, as those with an empty text are. Values are compared as what they are, because to
 * compare them as JSON takes three times as long. Rows of the same value are in the order of the bytes of their ids.
 */
export function sortedBy(columns: SortColumns, { after, sort }: ListRequest & { sort: string }, bind: Bind) {
  const column = columns[sort.replace(/^-/, '')] ?? '';
  const [value, toNumber, fromNumber] = comparedAs(column);
  const [direction, behind] = sort.startsWith('-') ? (['desc', '<'] as const) : (['asc', '>'] as const);
  const [, hex = '', id = ''] = (after ?? '').split(/:=?/);
  const text = Buffer.from(hex, 'hex').toString();
  const bound = bind(after === null ? null : fromNumber ? Number(text) || 0 : text);
  const last = fromNumber ? fromNumber(`${bound}::float8`) : `${bound}::text`;
  const lastId = `${bind(id)}::text`;
  return {
    value,
    /** The position of a row. */
    position: (of: string, rowId: string): string =>
      `${bind(sort)}::text || ':=' || encode(convert_to((${toNumber ? toNumber(of) : of})::text, 'UTF8'), 'hex') || ':' || ${rowId}`,
    /** The condition for the rows behind the position. */
    isBehind: (of: string, rowId: string): string =>
      `(${last} is null or (${of}, ${rowId}::text collate "C") ${behind} (${last}, ${lastId}))`,
    order: (of: string, rowId: string): string => `${of} ${direction}, ${rowId}::text collate "C" ${direction}`,
    /** The most rows that are sorted for one page, which takes up to 50 ms. More ids than these make PostgreSQL count the rows before. */
    rowsMax: typeof column !== 'string' && 'slow' in column ? 25_000 : 110_000,
  };
}

type ToSql = (sql: string) => string;

/** How a column is compared, and how its value becomes a number of a position and the other way round, if it is no text. */
function comparedAs(column: SortColumns[string]): [string, ToSql?, ToSql?] {
  if (typeof column === 'string') return [`coalesce(${column}, '')`];
  if ('text' in column) return [`coalesce(${column.text}, '')`];
  const seconds: ToSql = (of) => `date_part('epoch', ${of})`;
  if ('time' in column) return [`coalesce(${column.time}, '-infinity')`, seconds, (n) => `(select to_timestamp(${n}))`];
  if ('span' in column)
    return [`coalesce(${column.span}, '-1 second')`, seconds, (n) => `(select make_interval(secs => ${n}))`];
  return [`coalesce((${column.number})::float8, '-infinity')`, (of) => of, (n) => n];
}

/** Matches a position in a list that is sorted by a column: the order, the value in hexadecimal, the id. */
export const sortedPosition = /^-?\w[\w.]{0,63}:=(?:(?!00)[0-9a-f]{2})*:[\w-]{1,64}$/;

interface Sorted extends OrderedRows {
  /** The table, whose alias is `row`. */
  table: string;
  /** The filters of the list. */
  match: string;
  /** What a row returns, beside its position. */
  select: string;
  /** What is joined to the rows of the page only. */
  joins: string;
}

/** A statement for a page of a growing table that is sorted by a column. It reads the whole of the rows on the page only. */
export function sortedText(
  { table, row, columns, time, idType, match, select, joins }: Sorted,
  request: ListRequest & { sort: string },
  bind: Bind,
): string {
  const { value, isBehind, order, position, rowsMax } = sortedBy(columns, request, bind);
  // Ids that are numbers have as many values as there are rows, or more.
  const mayBeMore = idType === 'bigint' ? `(select max(id) - min(id) from ${table}) >= ${rowsMax}` : 'true';
  const matching = `from ${table} ${row} where ${match} and ${isWithin(`${row}.${time}`, request, bind)}`;
  // Names that no column of a table has, because columns of the row are returned under their own names.
  return operatorPageText(`
    with page as materialized (
      select sort_value, row_id from (select ${value} as sort_value, ${row}.id as row_id ${matching} limit ${rowsMax}) scanned
      where ${isBehind('sort_value', 'row_id')} order by ${order('sort_value', 'row_id')} limit ${bind(request.limit + 1)}::int)
    select ${select}, ${position('sort_value', 'row_id')} as position, ${rowsMaxIfCut(matching, rowsMax, mayBeMore)}
    from page cross join lateral (select * from ${table} where ${table}.id = row_id limit 1) ${row} ${joins}
    order by ${order('sort_value', 'row_id')}`);
}

/** The page of the rows of `sortedText`. Throws `invalid_value` if more rows match than are sorted. */
export function sortedPageOf<Row extends object>(rows: readonly (Row & SortedRow)[], limit: number) {
  const rowsMax = rows[0]?.rowsMax ?? null;
  if (rowsMax !== null) {
    const message = `More than ${rowsMax.toLocaleString('en')} rows match. Narrow created_after and created_before to sort them by this column.`;
    throw new GatewayError('invalid_value', { param: 'sort', message });
  }
  const { items, next } = pageOfRows(rows, limit);
  return { items: items.map(({ rowsMax: _, ...row }) => row), next };
}

/**
 * SQL for the column `rows_max`: how many rows are sorted if more match, null otherwise. `mayBeMore` is a condition that is true if they may, and
 * that costs less than to count them.
 */
export const rowsMaxIfCut = (matching: string, rowsMax: number, mayBeMore = 'true'): string =>
  `case when ${mayBeMore} and exists (select ${matching} offset ${rowsMax}) then ${rowsMax} end as rows_max`;

/** What a row has beside its columns. */
export type SortedRow = Positioned & { rowsMax: number | null };

export type TimeOrder = 'newest' | 'oldest';

/** Whether a list is in the order of time, by which the indexes of the growing tables are. */
export const isByTime = (sort: string): sort is TimeOrder => sort === 'newest' || sort === 'oldest';

/** A statement for a page of an operators' list. */
export const operatorPageText = (text: string): string => boundedText(text, OPERATOR_PAGE_BYTES_MAX);

export type Positioned = Bounded & { position: string };

/** The page of the rows of such a statement, of which there is one more than `limit` if another page follows. Their positions are left out. */
export function pageOfRows<Row extends object>(
  rows: readonly (Row & Positioned)[],
  limit: number,
): Page<Omit<Row & { position: string }, 'position'>> {
  const { items, next } = boundedPageOf<Row & { position: string }>(rows, limit, ({ position }) => position);
  return { items: items.map(({ position: _, ...row }) => row), next };
}
