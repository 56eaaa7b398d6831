/**
 * Holds that a name means one thing. No two modules of `src` export the same name, and none declares at its top level a function, a constant or
 * a type under a name that another one exports. No two files of `src`, of the console or of a package differ by an "s" alone. Run by
 * `npm run check`. A module that passes on another's export says so with `export … from`, which does not count.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import ts from 'typescript';

const folders = ['src', 'test', 'bench', 'console/src', 'packages/*/src'];
const listed = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', ...folders],
  {
    encoding: 'utf8',
  },
);
const files = listed
  .trim()
  .split('\n')
  .filter((file) => /[.](ts|tsx)$/.test(file) && !file.endsWith('.d.ts'));
const modules = files.filter((file) => file.startsWith('src/'));

/** What else names a file than its main export: the command, the table, the path or the object of an API. */
const namedByOthers = ['src/admin/', 'src/db/entities/', 'src/http/routes/', 'src/http/openapi/schemas/'];

const declared = modules.flatMap(declarationsOf);
const exported = declared.filter(({ isExported }) => isExported);

const problems = [
  ...doublesOf(exported).map(([name, all]) => `${name} is exported by ${all.join(' and ')}: qualify one name.`),
  ...declared.filter(({ isExported }) => !isExported).flatMap(problemsOfOwnName),
  ...doublesOf(files.map((file) => ({ name: withoutPlural(file), file }))).map(differByPlural),
  ...doublesOf(files.filter(isNamedByExport).map((file) => ({ name: withoutPlural(wholeName(file)), file })))
    .filter(([, all]) => new Set(all.map(wholeName)).size > 1)
    .map(differByPlural),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

/** What the top level of a module declares. A constant and the type of its values under one name are one declaration. */
function declarationsOf(file) {
  const { statements } = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const found = new Map();
  for (const statement of statements) {
    const isExported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
    for (const name of namesIn(statement))
      found.set(name, { name, file, isExported: isExported || found.get(name)?.isExported === true });
  }
  return [...found.values()];
}

function namesIn(statement) {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => boundIn(name));
  return statement.name && ts.isIdentifier(statement.name) ? [statement.name.text] : [];
}

/** The names that a declaration binds; of `const { a, b: [c] } = …` these are `a` and `c`. */
function boundIn(name) {
  return ts.isIdentifier(name)
    ? [name.text]
    : name.elements.flatMap((element) => (element.name ? boundIn(element.name) : []));
}

function problemsOfOwnName({ name, file }) {
  const others = exported.filter((one) => one.name === name && one.file !== file);
  return others.map((other) => `${file} declares ${name}, which ${other.file} exports: qualify one name.`);
}

function differByPlural([, all]) {
  return `${all.join(' and ')} differ by an "s": name one after its main export.`;
}

/** A name of one word is that of a subject, which the domain has as a noun and the rows as a plural (`task.ts`, `tasks.ts`). */
function isNamedByExport(file) {
  return (
    /^(?:src|console|packages)[/]/.test(file) &&
    basename(file).includes('-') &&
    !namedByOthers.some((start) => file.startsWith(start))
  );
}

/** The name of a file within its program, whatever its folder. */
function wholeName(file) {
  const program = /^(?:packages[/][^/]+|[^/]+)/.exec(dirname(file))?.[0];
  return `${program}/${basename(file)}`;
}

function withoutPlural(file) {
  return file.replace(/s(?=[-./])/g, '');
}

/** Each name that more than one file has, with the files. */
function doublesOf(pairs) {
  const filesOf = new Map();
  for (const { name, file } of pairs) filesOf.set(name, [...(filesOf.get(name) ?? []), file]);
  return [...filesOf].filter(([, all]) => all.length > 1);
}
