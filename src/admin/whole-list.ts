import { z } from 'zod';
import type { Page } from '../domain/page.ts';
import { unixSecondsOf } from './input.ts';

interface Order<Row> {
  sort?: string | undefined;
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
  /** Unix seconds. A row without a time is of now. */
  timeOf: (row: Row) => number | null;
  /** The row as it is answered. */
  toDocument: (row: Row) => object;
}

/** All rows of a list that was read as a whole, of the range of time and in the order that are asked for. */
export function wholeList<Row>(
  rows: readonly Row[],
  { sort, createdAfter, createdBefore, ...of }: Order<Row>,
): Page<Row> {
  const [from = -Infinity, before = Infinity] = [unixSecondsOf(createdAfter), unixSecondsOf(createdBefore)];
  const now = Date.now() / 1_000;
  const timeOf = (row: Row): number => of.timeOf(row) ?? now;
  const within = rows.filter((row) => timeOf(row) >= from && timeOf(row) < before);
  if (sort === undefined) return { items: within, next: null };
  if (sort === 'newest') return { items: within.toSorted((a, b) => timeOf(b) - timeOf(a)), next: null };
  if (sort === 'oldest') return { items: within.toSorted((a, b) => timeOf(a) - timeOf(b)), next: null };
  const path = sort.replace(/^-/, '').split('.');
  const valued = within.map((row) => ({ row, value: memberOf(of.toDocument(row), path) }));
  const direction = sort.startsWith('-') ? -1 : 1;
  return { items: valued.toSorted((a, b) => direction * compare(a.value, b.value)).map(({ row }) => row), next: null };
}

const memberOf = (value: unknown, [name, ...inner]: readonly string[]): unknown =>
  name === undefined || typeof value !== 'object' || value === null
    ? value
    : memberOf((value as Record<string, unknown>)[name], inner);

/** As the database compares values: none at all before texts, texts before numbers, numbers before truths. */
function compare(left: unknown, right: unknown): number {
  const rank = (value: unknown): number => ['string', 'number', 'boolean'].indexOf(typeof value);
  if (rank(left) !== rank(right)) return rank(left) - rank(right);
  if (typeof left === 'string' && typeof right === 'string') return left.localeCompare(right, 'en');
  return Number(left ?? 0) - Number(right ?? 0);
}

/** The columns of a row's schema that have one value, those inside of an object as `credits.charged`. */
export const sortColumnsOf = (row: z.ZodType): string[] => columnsIn(row, '', 2);

function columnsIn(schema: z.ZodType, within: string, depth: number): string[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, member]) => {
    const value = valueOf(member);
    if (value instanceof z.ZodObject && depth > 1) return columnsIn(value, `${within}${name}.`, depth - 1);
    return isScalar(value) ? [`${within}${name}`] : [];
  });
}

/** The schema of a value that may be null or absent. */
const valueOf = (schema: z.ZodType): z.ZodType =>
  schema instanceof z.ZodNullable || schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? valueOf(schema.unwrap() as z.ZodType)
    : schema;

const isScalar = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodUnion
    ? schema.options.every((option) => isScalar(option as z.ZodType))
    : [z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodEnum].some((kind) => schema instanceof kind);
