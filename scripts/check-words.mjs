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

/** Most banned words are plain English in a sentence. These are not, in documents and in comments; a name in backticks may be one. */
const vague = [
  { words: /(?<!`)\bwhoever\b/gi, say: reasons.get('whoever') },
  { words: /(?<!`)\bnobody\b/gi, say: reasons.get('nobody') },
  { words: /\bat once\b/gi, say: 'immediately, or at the same time' },
  { words: /\bwhat there is of it\b/gi, say: 'what it is' },
  { words: /\bladders?\b/gi, say: reasons.get('ladder') },
];

const problems = [
  ...files.flatMap((file) => [...problemsOfName(file), ...problemsInside(file), ...problemsOfComments(file)]),
  ...documents.flatMap(problemsOfDocument),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

function problemsOfText(file, lines) {
  return lines.flatMap((line, index) =>
    vague.flatMap(({ words, say }) =>
      [...line.matchAll(words)].map(([word]) => `${file}:${index + 1}: "${word}". Say ${say}.`),
    ),
  );
}

/** The history of released versions stays as it is. */
function problemsOfDocument(file) {
  const parts = readFileSync(file, 'utf8').split(/^(?=## \[)/m);
  const text = (file === 'CHANGELOG.md' ? parts.slice(0, 2) : parts).join('');
  return problemsOfText(file, text.split('\n'));
}

/** A comment of SQL may stand in a statement. */
function problemsOfComments(file) {
  if (!/[.](ts|tsx|mjs|sql)$/.test(file) || /[/](fixtures|migrations|dumps)[/]|^scripts[/](check-)?words/.test(file))
    return [];
  const comment = file.endsWith('.sql') ? /--.*/ : /(?:^|\s)(?:[/][/]|[/][*]|[*]|--)\s.*|[/][*][*].*/;
  const lines = readFileSync(file, 'utf8').split('\n');
  return problemsOfText(
    file,
    lines.map((line) => comment.exec(line)?.[0] ?? ''),
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
    if (file.startsWith('src/') && ts.isCallExpression(node)) found.push(...problemsOfLog(node, source));
    if (file.startsWith('src/db/') && isPartOfText(node)) found.push(...problemsOfStatement(node, source));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The text of a log line says whose job it means. */
function problemsOfLog({ expression, arguments: values }, source) {
  const text = values.at(-1);
  if (!ts.isPropertyAccessExpression(expression) || !text || !ts.isStringLiteralLike(text)) return [];
  if (!/^(?:debug|info|warn|error|fatal)$/.test(expression.name.text)) return [];
  const { line } = source.getLineAndCharacterOfPosition(text.getStart());
  return [...text.text.matchAll(/(?<!provider |scheduled )\bjobs?\b/g)].map(
    ([word]) => `${source.fileName}:${line + 1}: a log line says "${word}". Say ${reasons.get(word)}.`,
  );
}

function isPartOfText(node) {
  return ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
}

/** A name that a statement gives: `with NAME as (`, `, NAME as (`, `as NAME`, `) NAME (`. Columns of a member of JSON are among the kept names. */
function problemsOfStatement(node, source) {
  const text = node.text.replace(/--.*/g, '');
  const names = /\b(\w+) as (?:not )?(?:materialized )?\(|\bas ["]?(\w+)|\) (\w+) \(/g;
  const aliases = [...text.matchAll(names)].map(([, ...each]) => each.find(Boolean));
  const { line } = source.getLineAndCharacterOfPosition(node.getStart());
  return aliases.flatMap((name) =>
    badWordsOf(name, source.fileName).map(
      (word) => `${source.fileName}:${line + 1}: a statement names ${name} with "${word}". Say ${reasons.get(word)}.`,
    ),
  );
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
