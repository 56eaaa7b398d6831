import type pg from 'pg';
import { builtObjects, type BuiltMember, type BuiltObject } from './built-objects.ts';
import { describeStatement } from './describe-statement.ts';
import type { DeclaredMembers, DeclaredMember, DeclaredStatement } from './read-statements.ts';

/** What JSON makes of a value of each type, as PostgreSQL names it. */
const kindsInJson: Readonly<Record<string, string>> = {
  bigint: 'number',
  boolean: 'boolean',
  'character varying': 'string',
  'double precision': 'number',
  integer: 'number',
  numeric: 'number',
  smallint: 'number',
  text: 'string',
  'text[]': 'string[]',
  'timestamp with time zone': 'string',
};

/** Compares the objects that statements make of columns with the declared types: their members, and the type of each. */
export class BuiltMembers {
  readonly #client: pg.Client;
  /** Answers of the server, because one expression stands in many cases of a text. */
  readonly #types = new Map<string, Promise<string>>();
  #nullable: Promise<ReadonlySet<string>> | undefined;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** The mistakes of a statement; empty if its declared types are true. */
  async mistakesOf({ texts, row }: Pick<DeclaredStatement, 'texts' | 'row'>): Promise<string[]> {
    const mistakes = new Set<string>();
    for (const text of texts)
      for (const object of builtObjects(text)) {
        const column = object.column?.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
        const declared = row?.get(column ?? '');
        if (!declared) mistakes.add(`no declared column has the object with ${namesOf(object)}`);
        else for (const mistake of await this.#ofObject(text, object, declared, column ?? '')) mistakes.add(mistake);
      }
    return [...mistakes];
  }

  async #ofObject(text: string, object: BuiltObject, { members }: DeclaredMember, path: string): Promise<string[]> {
    const names = new Set(object.members.map(({ name }) => name));
    const mistakes = missingOf(members, names).map((name) => `${path}.${name} is no member of the object`);
    for (const member of object.members) {
      const declared = members.get(member.name);
      if (!declared) mistakes.push(`${path}.${member.name} is not declared`);
      else mistakes.push(...(await this.#ofMember(text, member, declared, `${path}.${member.name}`)));
    }
    return mistakes;
  }

  async #ofMember(text: string, member: BuiltMember, declared: DeclaredMember, path: string): Promise<string[]> {
    if (member.objects.length > 0) {
      const nested = await Promise.all(member.objects.map((object) => this.#ofObject(text, object, declared, path)));
      return nested.flat();
    }
    const value = text.slice(member.start, member.end).trim();
    if (value === 'null') return declared.kinds.includes('null') ? [] : [`${path} is null and declared without null`];
    const type = await this.#typeOf(text, member, `${path} ${value}`);
    // JSON within it has a type of its own, and a word in quotes has none.
    if (/^jsonb?(\[\])?$/.test(type)) return [];
    const kind = type === 'unknown' ? 'string' : kindsInJson[type];
    if (kind === undefined) return [`${path} has the type ${type}, which no test maps`];
    const kinds = declared.kinds.filter((one) => one !== 'null');
    if (kinds.length === declared.kinds.length && (await this.#mayBeNull(text, value)))
      return [`${path} may be null and is declared without null`];
    return kinds.every((one) => one === kind || one === 'any')
      ? []
      : [`${path} is ${type} and declared as ${kinds.join()}`];
  }

  /** Whether a value is a column that its table allows to be null, as far as the text says which table that is. */
  async #mayBeNull(text: string, value: string): Promise<boolean> {
    this.#nullable ??= this.#client
      .query<{ stored: string }>(
        `select attrelid::regclass::text || '.' || attname as stored from pg_attribute where attnum > 0 and not attnotnull`,
      )
      .then(({ rows }) => new Set(rows.map(({ stored }) => stored)));
    const [, row = '', column = ''] = /^(\w+)\.(\w+)$/.exec(value) ?? [];
    const table = new RegExp(`\\b(?:from|join) (\\w+) ${row}\\b`).exec(text)?.[1];
    return row !== '' && table !== undefined && (await this.#nullable).has(`${table}.${column}`);
  }

  /** The type of an expression: the server refuses to call with it a function that does not exist, and says which. */
  #typeOf(text: string, { start, end }: BuiltMember, key: string): Promise<string> {
    const called = `${text.slice(0, start)} no_such_function(${text.slice(start, end)})${text.slice(end)}`;
    const type =
      this.#types.get(key) ??
      describeStatement(this.#client, called).then(
        () => 'that of a function that nobody has',
        (error: unknown) => /no_such_function\((.*)\) does not exist/.exec(String(error))?.[1] ?? String(error),
      );
    this.#types.set(key, type);
    return type;
  }
}

const namesOf = ({ members }: BuiltObject): string => members.map(({ name }) => name).join(', ');

const missingOf = (members: DeclaredMembers, names: ReadonlySet<string>): string[] =>
  [...members].filter(([name, { optional }]) => !optional && !names.has(name)).map(([name]) => name);
