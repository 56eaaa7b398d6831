/**
 * Holds the words of docs/ARCHITECTURE.md: a banned word names nothing that the code declares, and no file. Run by `npm run check`. Names that others rely on (JSON members,
 * columns, settings, log fields) keep their word; each stands below with its reason.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import ts from 'typescript';
import { banned, kept } from './words.mjs';

const reasons = new Map(banned.flatMap(({ words, say }) => words.map((word) => [word, say])));
const codeFolders = ['src', 'test', 'bench', 'console/src', 'packages/*/src', 'scripts'];
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...codeFolders], {
  encoding: 'utf8',
})
  .trim()
  .split('\n');

const documents = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  encoding: 'utf8',
})
  .trim()
  .split('\n');

const problems = [
  ...files.flatMap((file) => [...problemsOfName(file), ...problemsInside(file)]),
  ...documents.flatMap(problemsOfDocument),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Most banned words are plain English in a sentence. These two are not. */
function problemsOfDocument(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line, index) =>
    [...line.matchAll(/\b(?:whoever|ladders?)\b/gi)].map(
      ([word]) =>
        `${file}:${index + 1}: "${word}". Say ${reasons.get(word.toLowerCase().replace(/ladders/, 'ladder'))}.`,
    ),
  );
}

function problemsOfName(file) {
  // A released SQL function keeps its name, and a fixture has that of its provider.
  if (/[/](fixtures|migrations|functions)[/]/.test(file)) return [];
  return badWordsOf(basename(file).replace(/[.].*$/, ''), file).map(
    (word) => `${file}: a file is named with "${word}". Say ${reasons.get(word)}.`,
  );
}

function problemsInside(file) {
  if (!/[.](ts|tsx|mjs)$/.test(file) || file.endsWith('.d.ts')) return [];
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const found = [];
  const visit = (node) => {
    if (isDeclaredName(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      for (const word of badWordsOf(node.text.replace(/^#/, ''), file))
        found.push(`${file}:${line + 1}: ${node.text} is named with "${word}". Say ${reasons.get(word)}.`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Whether the node is the name of something that this file declares, and not a name that it uses. */
function isDeclaredName(node) {
  if (!ts.isIdentifier(node) && !ts.isPrivateIdentifier(node)) return false;
  const { parent } = node;
  if (ts.isImportSpecifier(parent)) return parent.propertyName !== undefined && parent.name === node;
  if (ts.isExportSpecifier(parent)) return parent.name === node && parent.propertyName !== undefined;
  if (ts.isPropertyAccessExpression(parent) || ts.isQualifiedName(parent) || ts.isJsxAttribute(parent)) return false;
  return parent.name === node;
}

function badWordsOf(name, file) {
  if (/^[A-Z0-9_]+$/.test(name)) return [];
  if (kept.some((one) => one.names.includes(name) && (one.files ?? ['']).some((start) => file.startsWith(start))))
    return [];
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.filter((word, index) => reasons.has(word) && !isQualified(word, words[index - 1]));
}

/** A job says whose: a provider's, or that of a schedule. */
function isQualified(word, before) {
  return /^jobs?$/.test(word) && ['provider', 'scheduled'].includes(before);
}
