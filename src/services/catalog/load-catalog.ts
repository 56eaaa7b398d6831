import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { CatalogFileEntry, type CatalogEntry } from '../../domain/catalog/catalog.ts';
import { quoted } from '../../domain/errors.ts';
import { issueWords } from '../../domain/issue-words.ts';
import { withCatalogDefaults, type CatalogDefaults } from './catalog-defaults.ts';
import { checkCatalogEntry, checkCatalogNames } from './check-catalog-entry.ts';
import type { CatalogProblem } from './check/findings.ts';
import { CatalogError } from './catalog-error.ts';

/** Reads, parses and checks the files of a catalog. Throws what `readCatalogFiles` and `readCatalog` throw. */
export const loadCatalog = async (path: string) => readCatalog(await readCatalogFiles(path));

/**
 * The texts of a catalog: of a file, or of every `*.yaml` of a folder in the order of their names, of at most `catalogBytesMax` bytes
 * together. Throws `CatalogError` or the file system's own error.
 */
export async function readCatalogFiles(path: string): Promise<CatalogText[]> {
  const files = (await stat(path)).isDirectory() ? await catalogFilesIn(path) : [path];
  const texts: CatalogText[] = [];
  let bytesLeft = catalogBytesMax;
  for (const file of files) {
    // One byte more than allowed (`end` is included), so that even a file that grows while it is read is bounded and refused.
    const content = await buffer(createReadStream(file, { end: bytesLeft }));
    bytesLeft -= content.length;
    if (bytesLeft < 0) throw tooLarge(file);
    texts.push({ file, text: content.toString('utf8') });
  }
  return texts;
}

async function catalogFilesIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.yaml$/.test(name)).sort();
  if (names.length > 0) return names.map((name) => join(folder, name));
  throw new CatalogError([{ file: folder, model: 'catalog', path: '', message: 'has no *.yaml file' }]);
}

/** Parses and checks the text of one catalog file. Throws `CatalogError` with every problem. */
export const parseCatalog = (text: string) => readCatalog([{ text }]);

/** Parses and checks the text of one entry, as `catalog show MODEL --json` prints it. Throws `CatalogError` with every problem. */
export function readCatalogEntry(text: string): { entry: CatalogEntry; warnings: string[] } {
  const { entries, warnings } = readCatalog([{ text: JSON.stringify({ models: [parseYaml(text)] }) }]);
  const [entry] = entries;
  if (entry === undefined) throw refusal('must be the entry of one model');
  return { entry, warnings };
}

/** One file of a catalog. */
export interface CatalogText {
  file?: string | undefined;
  text: string;
}

/**
 * Parses a catalog and checks all of it (spec §2.1–2.3; rules "Catalog"): shapes, prices, defaults, examples, aliases, upstream
 * mappings and costs. A warning is a sentence about something that is allowed but may be a mistake. Throws `CatalogError`, which names
 * the file of each problem.
 */
export function readCatalog(texts: readonly CatalogText[]) {
  const files = texts.map(({ file, text }) => ({ file, ...readFile(text, file) }));
  const defaults = files.reduce<CatalogDefaults>((all, one) => ({ ...all, ...one.defaults }), {});
  const parsed = files.flatMap(({ file, models }) =>
    models.map((item, index) => ({ file, ...readEntry(item, index, defaults) })),
  );
  if (parsed.length > modelsMax) throw refusal(`must have at most ${modelsMax} models`);
  const found = parsed.flatMap(({ file, entry }) => (entry === undefined ? [] : [{ file, entry }]));
  const fileOf = new Map(found.map(({ file, entry }) => [entry.model.id, file]));
  const findings = found.map(({ file, entry }) => ({ file, ...checkCatalogEntry(entry) }));
  const entries = found.map(({ entry }) => entry);
  const problems = [
    ...[...parsed, ...findings].flatMap(({ file, problems: own }) => own.map((problem) => ({ file, ...problem }))),
    ...checkCatalogNames(entries).map((problem) => ({ file: fileOf.get(problem.model), ...problem })),
  ];
  if (problems.length > 0) throw new CatalogError(problems);
  return { entries, warnings: findings.flatMap((finding) => finding.warnings) };
}

const refusal = (message: string, file?: string) => new CatalogError([{ file, model: 'catalog', path: '', message }]);
const tooLarge = (file?: string) => refusal(`must have at most ${catalogBytesMax} bytes in all its files`, file);

/** Enough for thousands of models, and small enough that a wrong file does not fill the memory. */
export const catalogBytesMax = 2_000_000;
const modelsMax = 2_000;
/** `data` is the list as `tollgate catalog show --json` prints it, with the version that it had. */
const Items = z.array(z.unknown()).min(1).max(modelsMax);
const Defaults = z.strictObject({ stream: z.boolean().optional() });
const File = z.union([
  z.strictObject({ models: Items, defaults: Defaults.default({}) }),
  z.strictObject({ defaults: Defaults }).transform(({ defaults }) => ({ models: [], defaults })),
  z
    .strictObject({ data: Items, version: z.string().optional() })
    .transform(({ data }) => ({ models: data, defaults: {} })),
]);

/** How the files of a catalog are parsed. */
export const yamlOptions = { schema: 'core', stringKeys: true, uniqueKeys: true } as const;

function readFile(text: string, name: string | undefined): { models: unknown[]; defaults: CatalogDefaults } {
  const file = File.safeParse(parseYaml(text, name));
  if (!file.success) throw refusal(`must be a list under "models", of 1 to ${modelsMax} models`, name);
  return file.data;
}

function parseYaml(text: string, name?: string): unknown {
  const refuse = (message: string) => refusal(message, name);
  if (Buffer.byteLength(text) > catalogBytesMax) throw tooLarge(name);
  const document = parseDocument(text, yamlOptions);
  const [syntaxError] = [...document.errors, ...document.warnings];
  if (syntaxError !== undefined) throw refuse(`is not valid YAML: ${syntaxError.message}`);
  try {
    // YAML aliases are refused, because a few nested ones expand to billions of values.
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw refuse(`is not valid YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readEntry(
  item: unknown,
  index: number,
  defaults: CatalogDefaults,
): { entry?: CatalogEntry; problems: CatalogProblem[] } {
  const id = z.looseObject({ id: z.string() }).safeParse(item);
  const model = id.success ? quoted(id.data.id) : `models[${index}]`;
  const unsafe = unsafePart(item, 0);
  if (unsafe !== undefined) return { problems: [{ model, path: '', message: unsafe }] };
  const parsed = CatalogFileEntry.safeParse(withCatalogDefaults(withoutVersion(item), defaults), { error: issueWords });
  if (parsed.success) {
    const { private: hidden, ...publicPart } = parsed.data;
    return { entry: { model: publicPart, private: hidden }, problems: [] };
  }
  return {
    problems: parsed.error.issues.map(({ path, message }) => ({ model, path: path.map(String).join('.'), message })),
  };
}

/** `catalog show` prints the version and the state of a model beside its entry. */
function withoutVersion(item: unknown): unknown {
  const versioned = z.looseObject({ version: z.string(), state: z.string().optional() }).safeParse(item);
  if (!versioned.success) return item;
  const { version: _version, state: _state, ...entry } = versioned.data;
  return entry;
}

/** The reason to refuse keys that could change a prototype, or deep nesting. */
function unsafePart(value: unknown, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > 32) return 'is nested deeper than 32 levels';
  for (const [name, child] of Object.entries(value)) {
    if (name === '__proto__' || name === 'constructor' || name === 'prototype') return `must not have a key "${name}"`;
    const found = unsafePart(child, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
