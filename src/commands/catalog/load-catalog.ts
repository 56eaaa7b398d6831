import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import type { CatalogEntry } from '../../domain/catalog.ts';
import { quoted } from '../../domain/errors.ts';
import { CatalogFileEntry } from './catalog-file-entry.ts';
import { checkCatalogEntry, checkCatalogNames } from './check-catalog-entry.ts';
import type { CatalogProblem } from './check/findings.ts';

/** An invalid catalog, with all its problems. */
export class CatalogError extends Error {
  readonly problems: readonly CatalogProblem[];

  constructor(problems: readonly CatalogProblem[]) {
    const lines = problems.map(({ model, path, message }) => `${[model, path].filter(Boolean).join(' ')}: ${message}`);
    super(`The catalog is invalid:\n${lines.join('\n')}`);
    this.name = 'CatalogError';
    this.problems = problems;
  }
}

/** Reads a catalog file of at most `catalogBytesMax` bytes. Throws `CatalogError`, or the file system's own error. */
export async function loadCatalog(file: string) {
  // One byte more than allowed (`end` is included), so that even a file that grows while it is read is bounded and refused.
  const content = await buffer(createReadStream(file, { end: catalogBytesMax }));
  return parseCatalog(content.toString('utf8'));
}

/**
 * Parses a catalog and checks all of it (spec §2.1–2.3; rules "Catalog"): shapes, prices, defaults, examples, aliases and upstream
 * mappings. A warning is a sentence about something that is allowed but may be a mistake. Throws `CatalogError` with every problem.
 */
export function parseCatalog(text: string) {
  const items = readModels(text);
  const parsed = items.map(readEntry);
  const entries = parsed.flatMap(({ entry }) => (entry === undefined ? [] : [entry]));
  const findings = entries.map(checkCatalogEntry);
  const problems = [
    ...parsed.flatMap((item) => item.problems),
    ...findings.flatMap((finding) => finding.problems),
    ...checkCatalogNames(entries),
  ];
  if (problems.length > 0) throw new CatalogError(problems);
  return { entries, warnings: findings.flatMap((finding) => finding.warnings) };
}

/** Enough for thousands of models, and small enough that a wrong file does not fill the memory. */
export const catalogBytesMax = 2_000_000;
const modelsMax = 2_000;

function readModels(text: string): unknown[] {
  const refuse = (message: string) => new CatalogError([{ model: 'catalog', path: '', message }]);
  if (Buffer.byteLength(text) > catalogBytesMax) throw refuse(`must have at most ${catalogBytesMax} bytes`);
  const document = parseDocument(text, { schema: 'core', stringKeys: true, uniqueKeys: true });
  const [syntaxError] = [...document.errors, ...document.warnings];
  if (syntaxError !== undefined) throw refuse(`is not valid YAML: ${syntaxError.message}`);
  let content: unknown;
  try {
    // YAML aliases are refused, because a few nested ones expand to billions of values.
    content = document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw refuse(`is not valid YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
  const file = z.strictObject({ models: z.array(z.unknown()).min(1).max(modelsMax) }).safeParse(content);
  if (!file.success) throw refuse(`must be a list under "models": ${z.prettifyError(file.error)}`);
  return file.data.models;
}

function readEntry(item: unknown, index: number): { entry?: CatalogEntry; problems: CatalogProblem[] } {
  const id = z.looseObject({ id: z.string() }).safeParse(item);
  const model = id.success ? quoted(id.data.id) : `models[${index}]`;
  const unsafe = unsafePart(item, 0);
  if (unsafe !== undefined) return { problems: [{ model, path: '', message: unsafe }] };
  const parsed = CatalogFileEntry.safeParse(item);
  if (parsed.success) {
    const { private: hidden, ...publicPart } = parsed.data;
    return { entry: { model: publicPart, private: hidden }, problems: [] };
  }
  return {
    problems: parsed.error.issues.map(({ path, message }) => ({ model, path: path.map(String).join('.'), message })),
  };
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
