import { partialClasses, type TokenClass } from './token-classes.ts';

/** A column that counts tokens of one class: in the ledger, in its sums and in answers. */
export type TokenColumn = `${TokenClass}_tokens`;
/** Those of the classes that are a part of another one. */
export const partColumns = partialClasses.map((tokens) => `${tokens}_tokens` as const);
/** These columns as a list in a statement, each as `toSql` writes it. */
export const partList = (toSql: (column: string) => string): string => partColumns.map(toSql).join(', ');
export const tokenColumns = ['input_tokens', 'output_tokens', ...partColumns] as const;

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;
/** The member of a row that has such a column: `cache_write_1h_tokens` is `cacheWrite1hTokens`. */
type TokenCountMember = Camel<TokenColumn>;
/** The counts of a row. */
export type TokenCounts<Count = number> = Record<TokenCountMember, Count>;

const countIn = (column: TokenColumn): TokenCountMember =>
  column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) as TokenCountMember;
export const tokenCounts = tokenColumns.map(countIn);

/** The counts of a row under the names of their columns. */
export const toTokenColumns = <Count>(
  row: TokenCounts<Count>,
  columns: readonly TokenColumn[] = tokenColumns,
): Record<TokenColumn, Count> =>
  Object.fromEntries(columns.map((column) => [column, row[countIn(column)]])) as Record<TokenColumn, Count>;
