import { SourceError, type SourceRow, type SourceValue } from './source-database.ts';

export interface DumpedTable {
  columns: string[];
  rows: SourceRow[];
}

/**
 * The tables of a dump in SQL: `create table`, `insert into … values` and `copy … from stdin`. Every other statement is skipped. Throws
 * `SourceError` for a dump that ends inside a statement, or without the last line that its program writes.
 */
export function readDump(text: string, name: string): Map<string, DumpedTable> {
  const scan: Scan = { text, at: 0, name, isMysql: /^-- (MySQL|MariaDB) dump|^\/\*M?!/m.test(text.slice(0, 4_000)) };
  const tables = new Map<string, DumpedTable>();
  demandEnd(scan);
  while (skipBlank(scan)) readStatement(scan, tables);
  if (tables.size === 0) throw new SourceError(`The ${name} has no tables.`);
  return tables;
}

interface Scan {
  text: string;
  at: number;
  name: string;
  /** MySQL has escapes with a backslash in every text. */
  isMysql: boolean;
}

/** The last lines by which a whole dump is known. */
function demandEnd({ text, name, isMysql }: Scan): void {
  const end = text.slice(-2_000);
  const isPostgres = /^-- PostgreSQL database dump/m.test(text.slice(0, 2_000));
  const isSqlite = /^BEGIN TRANSACTION;/m.test(text.slice(0, 200));
  const expected = isPostgres
    ? /PostgreSQL database (cluster )?dump complete/
    : isMysql && /^-- (MySQL|MariaDB) dump/m.test(text.slice(0, 4_000))
      ? /Dump completed/
      : isSqlite
        ? /COMMIT;\s*$/
        : null;
  if (expected && !expected.test(end)) throw new SourceError(`The ${name} is cut off: its last line is missing.`);
}

const cutOff = (scan: Scan): SourceError => new SourceError(`The ${scan.name} is cut off inside a statement.`);

/** Moves to the next statement; false at the end. */
function skipBlank(scan: Scan): boolean {
  for (;;) {
    const blank = /(?:\s|--[^\n]*(?:\n|$)|;)+/y;
    blank.lastIndex = scan.at;
    if (blank.test(scan.text)) scan.at = blank.lastIndex;
    // What MySQL runs in comments are settings.
    if (scan.text.startsWith('/*', scan.at)) {
      const end = scan.text.indexOf('*/', scan.at);
      if (end < 0) throw cutOff(scan);
      scan.at = end + 2;
    } else if (scan.text[scan.at] === '\\' && scan.text[scan.at + 1] !== '.') {
      // A command of psql.
      const end = scan.text.indexOf('\n', scan.at);
      scan.at = end < 0 ? scan.text.length : end + 1;
    } else return scan.at < scan.text.length;
  }
}

const named = '((?:["`\\w]+\\.)?(?:"[^"]+"|`[^`]+`|\\w+))';
const insertHead = new RegExp(`insert\\s+(?:ignore\\s+)?into\\s+${named}\\s*(?:\\(([^)]*)\\))?\\s*values\\s*`, 'iy');
const copyHead = new RegExp(`copy\\s+${named}\\s*\\(([^)]*)\\)\\s+from\\s+stdin[^;]*;\\r?\\n`, 'iy');
const createHead = new RegExp(`create\\s+table\\s+(?:if\\s+not\\s+exists\\s+)?${named}\\s*\\(`, 'iy');

function readStatement(scan: Scan, tables: Map<string, DumpedTable>): void {
  const insert = matchAt(insertHead, scan);
  if (insert) return readInsert(scan, tableOf(tables, insert[1] ?? ''), namesIn(insert[2]));
  const copy = matchAt(copyHead, scan);
  if (copy) return readCopy(scan, tableOf(tables, copy[1] ?? ''), namesIn(copy[2]));
  const create = matchAt(createHead, scan);
  if (create) return readColumns(scan, tableOf(tables, create[1] ?? ''));
  skipStatement(scan);
}

function matchAt(pattern: RegExp, scan: Scan): RegExpExecArray | null {
  pattern.lastIndex = scan.at;
  const match = pattern.exec(scan.text);
  if (match) scan.at = pattern.lastIndex;
  return match;
}

function tableOf(tables: Map<string, DumpedTable>, written: string): DumpedTable {
  const name = bare(written.replace(/^(?:"[^"]+"|`[^`]+`|\w+)\.(?=.)/, ''));
  const table = tables.get(name) ?? { columns: [], rows: [] };
  tables.set(name, table);
  return table;
}

const bare = (name: string): string => name.trim().replace(/^["`]|["`]$/g, '');

const namesIn = (list: string | undefined): string[] | null => (list ? list.split(',').map(bare) : null);

/** The names at the beginning of the parts of `create table (…)`, without keys and constraints. */
function readColumns(scan: Scan, table: DumpedTable): void {
  let depth = 1;
  let isStart = true;
  while (depth > 0) {
    const char = scan.text[scan.at];
    if (char === undefined) throw cutOff(scan);
    const name = isStart ? matchAt(/\s*("[^"]+"|`[^`]+`|\w+)/y, scan) : null;
    if (name) {
      isStart = false;
      if (!isConstraint(scan, name[1] ?? '')) table.columns.push(bare(name[1] ?? ''));
      continue;
    }
    if (char === "'" || char === '"' || char === '`') {
      readQuoted(scan);
      continue;
    }
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    if (char === ',' && depth === 1) isStart = true;
    scan.at += 1;
  }
  skipStatement(scan);
}

/** `key` is also the name of a column. MySQL writes such a name in quotes, and an index as a key. */
const isConstraint = (scan: Scan, word: string): boolean =>
  /^(primary|unique|constraint|foreign|check|exclude)$/i.test(word) ||
  (/^(key|index|fulltext)$/i.test(word) && (scan.isMysql || /\s*`/y.test(scan.text.slice(scan.at, scan.at + 10))));

function readInsert(scan: Scan, table: DumpedTable, columns: string[] | null): void {
  const names = columns ?? table.columns;
  for (;;) {
    if (!matchAt(/\s*\(/y, scan)) throw cutOff(scan);
    const values: SourceValue[] = [];
    do values.push(readValue(scan));
    while (matchAt(/\s*,/y, scan));
    if (!matchAt(/\s*\)/y, scan)) throw cutOff(scan);
    table.rows.push(Object.fromEntries(names.map((name, index) => [name, values[index] ?? null])));
    if (matchAt(/\s*,/y, scan)) continue;
    return skipStatement(scan);
  }
}

function readValue(scan: Scan): SourceValue {
  matchAt(/\s*(?:_utf8mb4|_utf8|_binary|E(?='))?\s*/iy, scan);
  if (scan.text[scan.at] === "'") {
    const text = readQuoted(scan);
    matchAt(/::[\w ]+(?:\([\d, ]*\))?(?:\[\])?/y, scan);
    return text;
  }
  const word = matchAt(/[^,()\s;']+(?:\([^()]*\))?/y, scan)?.[0];
  if (word === undefined) throw cutOff(scan);
  if (/^null$/i.test(word)) return null;
  if (/^(true|false)$/i.test(word)) return word.toLowerCase() === 'true';
  if (/^-?\d+$/.test(word)) return Number.isSafeInteger(Number(word)) ? Number(word) : BigInt(word);
  // A decimal keeps all its digits as a text.
  if (/^-?[\d.]{16,}$/.test(word)) return word;
  if (/^-?[\d.]+(e[-+]?\d+)?$/i.test(word)) return Number(word);
  const hex = /^(?:0x|x)([0-9a-f]+)$/i.exec(word);
  return hex ? Buffer.from(hex[1] ?? '', 'hex').toString('utf8') : word;
}

/** A text in quotes, which may have doubled quotes, and escapes with a backslash where MySQL wrote it or it begins with `E`. */
function readQuoted(scan: Scan): string {
  const quote = scan.text[scan.at] ?? '';
  const hasEscapes = quote === "'" && (scan.isMysql || /e/i.test(scan.text[scan.at - 1] ?? ''));
  let value = '';
  let from = scan.at + 1;
  for (let at = from; at < scan.text.length; at += 1) {
    const char = scan.text[at];
    if (hasEscapes && char === '\\') {
      value += scan.text.slice(from, at) + (escapes[scan.text[at + 1] ?? ''] ?? scan.text[at + 1] ?? '');
      at += 1;
      from = at + 1;
    } else if (char === quote) {
      value += scan.text.slice(from, at);
      if (scan.text[at + 1] !== quote) {
        scan.at = at + 1;
        return value;
      }
      from = at + 1;
      at += 1;
    }
  }
  throw cutOff(scan);
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  0: '\0',
  b: '\b',
  Z: '\x1a',
  f: '\f',
  v: '\v',
};

function readCopy(scan: Scan, table: DumpedTable, columns: string[] | null): void {
  const names = columns ?? table.columns;
  for (;;) {
    const end = scan.text.indexOf('\n', scan.at);
    if (end < 0) throw cutOff(scan);
    const line = scan.text.slice(scan.at, end).replace(/\r$/, '');
    scan.at = end + 1;
    if (line === '\\.') return;
    const values = line.split('\t').map(copied);
    if (values.length !== names.length) throw cutOff(scan);
    table.rows.push(Object.fromEntries(names.map((name, index) => [name, values[index] ?? null])));
  }
}

const copied = (field: string): string | null =>
  field === '\\N' ? null : field.replace(/\\(.)/g, (_whole, char: string) => escapes[char] ?? char);

/** Moves behind the end of a statement, which a semicolon outside of quotes is. */
function skipStatement(scan: Scan): void {
  for (;;) {
    const char = scan.text[scan.at];
    if (char === undefined) throw cutOff(scan);
    if (char === ';') return void (scan.at += 1);
    const dollar = char === '$' ? matchAt(/\$\w*\$/y, scan)?.[0] : undefined;
    if (dollar !== undefined) {
      const end = scan.text.indexOf(dollar, scan.at);
      if (end < 0) throw cutOff(scan);
      scan.at = end + dollar.length;
    } else if (char === "'" || char === '"' || char === '`') readQuoted(scan);
    else if (scan.text.startsWith('--', scan.at)) {
      const end = scan.text.indexOf('\n', scan.at);
      if (end < 0) throw cutOff(scan);
      scan.at = end;
    } else scan.at += 1;
  }
}
