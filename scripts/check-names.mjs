/**
 * Holds that a name means one thing. No two modules of `src` export the same name, and none has a type of its own under a name that another one
 * exports as a type. No two files of `src`, of the console or of a package differ by an "s" alone. Run by `npm run check`. A module that passes
 * on another's export says so with `export … from`, which does not count.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';

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

const declaration =
  /^(export )?(?:declare |async |abstract )*(function\*?|const|let|class|interface|type|enum) (\w+)/gm;
const declared = modules.flatMap((file) => {
  const found = [...readFileSync(file, 'utf8').matchAll(declaration)].map(([, isExported, kind, name]) => ({
    name,
    file,
    isExported: isExported !== undefined,
    isType: /^(?:class|interface|type|enum)$/.test(kind),
  }));
  return [...new Map(found.map((one) => [one.name, one])).values()];
});
const exported = declared.filter(({ isExported }) => isExported);

const problems = [
  ...doublesOf(exported).map(([name, all]) => `${name} is exported by ${all.join(' and ')}: qualify one name.`),
  ...declared.filter(({ isExported, isType }) => isType && !isExported).flatMap(problemsOfOwnType),
  ...doublesOf(files.map((file) => ({ name: withoutPlural(file), file }))).map(differByPlural),
  ...doublesOf(files.filter(isNamedByExport).map((file) => ({ name: withoutPlural(wholeName(file)), file })))
    .filter(([, all]) => new Set(all.map(wholeName)).size > 1)
    .map(differByPlural),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

function problemsOfOwnType({ name, file }) {
  const others = exported.filter((one) => one.isType && one.name === name && one.file !== file);
  return others.map((other) => `${file} has a type ${name} of its own, and ${other.file} exports one: qualify it.`);
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
