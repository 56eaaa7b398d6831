import type { Page, PageRequest } from '../domain/page.ts';
import {
  earlierPosition,
  laterPosition,
  newestPosition,
  oldestPosition,
  readTimePosition,
  type TimePosition,
} from '../domain/time-position.ts';
import { GatewayError } from '../domain/errors.ts';
import { boundedPageOf, boundedText, OPERATOR_PAGE_BYTES_MAX, type Bounded } from './bounded-page.ts';
import { timeOfPosition } from './time-position-sql.ts';

/** Which page of an operators' list is asked for, of which time and in which order. */
export interface ListRequest extends PageRequest {
  /** `newest`, `oldest`, or a column of the list, with `-` before it for the largest first. `newest` if absent. */
  sort?: string | undefined;
  /** Unix seconds: rows of this time or later. */
  createdFrom?: number | undefined;
  /** Unix seconds: rows of an earlier time. */
  createdBefore?: number | undefined;
}

/** The columns that a list can be sorted by, each with its SQL. */
export type SortColumns = Readonly<Record<string, string>>;

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
 * The order of a list whose rows have an id and a time. Rows of the same time or value are in the order of their ids. The order by time
 * can be read from an index of the time and the id.
 */
export function inOrder({ row, columns, time, idType }: OrderedRows, request: ListRequest, bind: Bind): Ordered {
  const { sort = 'newest' } = request;
  if (isByTime(sort)) return inTimeOrder({ row, time, idType }, { ...request, sort }, bind);
  const start = sortedStart({ ...request, sort }, bind);
  const value = sortValue(columns, sort);
  return {
    where: `(${value}, ${row}.id::text) ${isDescending(sort) ? '<' : '>'} (${start}) and ${isWithin(`${row}.${time}`, request, bind)}`,
    order: `${value} ${directionOf(sort)}, ${row}.id::text ${directionOf(sort)}`,
    position: sortedPositionOf(bind(sort), value, `${row}.id`),
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
    where: `(${time}, ${id}) < (${timeOfPosition(bind(start.microseconds))}, ${idOf(start, idType, bind)}) and ${time} >= ${secondsOf(bind(createdFrom ?? 0))}`,
    order: `${time} desc, ${id} desc`,
    position: positionOf(time, id),
  };
}

function oldestFirst(
  { time, id, idType }: ByTime,
  { after, createdFrom, createdBefore }: ListRequest,
  bind: Bind,
): Ordered {
  const start = laterPosition(after === null ? oldestPosition : readTimePosition(after), createdFrom);
  return {
    where: `(${time}, ${id}) > (${timeOfPosition(bind(start.microseconds))}, ${idOf(start, idType, bind)}) and ${time} < ${secondsOf(bind(createdBefore ?? lastSecond))}`,
    order: `${time} asc, ${id} asc`,
    position: positionOf(time, id),
  };
}

interface ByTime {
  time: string;
  id: string;
  idType: 'text' | 'bigint';
}

const idOf = ({ id }: TimePosition, idType: 'text' | 'bigint', bind: Bind): string =>
  idType === 'text' ? `${bind(id)}::text` : `${bind(Number(id))}::bigint`;

const positionOf = (time: string, id: string): string =>
  `(extract(epoch from ${time}) * 1000000)::bigint::text || '.' || ${id}`;

/** The condition that one of some texts has the text of a parameter in it, in any case. Null asks for all rows. */
export const hasText = (parameter: string, texts: readonly string[]): string =>
  `(${parameter}::text is null or ${texts.map((text) => `position(lower(${parameter}) in lower(${text})) > 0`).join(' or ')})`;

const lastSecond = Math.floor(newestPosition.microseconds / 1_000_000);
const secondsOf = (seconds: string): string => `to_timestamp(${seconds}::float8)`;

/** The condition that a time is in the range that is asked for. */
export const isWithin = (time: string, { createdFrom, createdBefore }: ListRequest, bind: Bind): string =>
  `${time} >= ${secondsOf(bind(createdFrom ?? 0))} and ${time} < ${secondsOf(bind(createdBefore ?? lastSecond))}`;

/** Values of all kinds are compared as JSON: none at all before texts, texts before numbers, numbers before truths. */
export const sortValue = (columns: SortColumns, sort: string): string =>
  `coalesce(to_jsonb(${columns[columnOf(sort)]}), 'null'::jsonb)`;
const columnOf = (sort: string): string => sort.replace(/^-/, '');
export const isDescending = (sort: string): boolean => sort.startsWith('-');
const directionOf = (sort: string): 'asc' | 'desc' => (isDescending(sort) ? 'desc' : 'asc');

/** SQL for the position of a row in a list that is sorted by a column, as `sortedPosition` matches it. */
export const sortedPositionOf = (sort: string, value: string, id: string): string =>
  `${sort}::text || ':' || encode(convert_to((${value})::text, 'UTF8'), 'hex') || ':' || ${id}`;

/** Matches a position in a list that is sorted by a column: the order, the value in hexadecimal, the id. */
export const sortedPosition = /^-?\w[\w.]{0,63}:(?:[0-9a-f]{2})+:[\w-]{1,64}$/;

/** Where the page begins. Without a position it is before all values in this direction, which are between `null` and an object. */
export function sortedStart({ after, sort }: ListRequest & { sort: string }, bind: Bind): string {
  const [, value = '', id = ''] = (after ?? '').split(':');
  const first = isDescending(sort) ? '{"":0}' : 'null';
  return `${bind(after === null ? first : Buffer.from(value, 'hex').toString())}::jsonb, ${bind(id)}::text`;
}

/** The most rows that are sorted by a column for one page, which takes up to 50 ms. A list of more has to be narrowed. */
export const SORTED_MAX = 25_000;

interface Sorted {
  /** The table and its alias. */
  table: string;
  row: string;
  columns: SortColumns;
  time: string;
  /** The filters of the list. */
  match: string;
  /** What a row returns, beside its position. */
  select: string;
  /** What is joined to the rows of the page only. */
  joins: string;
}

/**
 * A statement for a page of a growing table that is sorted by a column. It reads every row that matches, as far as `SORTED_MAX`, and the
 * whole of those on the page.
 */
export function sortedText(
  { table, row, columns, time, match, select, joins }: Sorted,
  request: ListRequest & { sort: string },
  bind: Bind,
): string {
  const { sort, limit } = request;
  const direction = directionOf(sort);
  // Names that no column of a table has, because columns of the row are returned under their own names.
  return operatorPageText(`
    with scanned as materialized (
      select ${sortValue(columns, sort)} as sort_value, ${row}.id as row_id from ${table} ${row}
      where ${match} and ${isWithin(`${row}.${time}`, request, bind)} limit ${SORTED_MAX + 1}),
    page as materialized (
      select sort_value, row_id from scanned where (sort_value, row_id::text) ${isDescending(sort) ? '<' : '>'} (${sortedStart(request, bind)})
      order by sort_value ${direction}, row_id::text ${direction} limit ${bind(limit + 1)}::int)
    select ${select}, ${sortedPositionOf(bind(sort), 'sort_value', 'row_id')} as position, (select count(*) from scanned)::int as scanned
    from page cross join lateral (select * from ${table} where ${table}.id = row_id limit 1) ${row} ${joins}
    order by sort_value ${direction}, row_id::text ${direction}`);
}

/** The page of the rows of `sortedText`. Throws `invalid_value` if more rows match than are sorted. */
export function sortedPageOf<Row extends object>(
  rows: readonly (Row & Positioned & { scanned: number })[],
  limit: number,
) {
  if ((rows[0]?.scanned ?? 0) > SORTED_MAX) {
    const message = `More than ${SORTED_MAX.toLocaleString('en')} rows match. Narrow created_after and created_before to sort them by a column.`;
    throw new GatewayError('invalid_value', { param: 'sort', message });
  }
  const { items, next } = pageOfRows(rows, limit);
  return { items: items.map(({ scanned: _, ...row }) => row), next };
}

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
