/**
 * Holds that a name means one thing: no two modules of `src` export the same name, and no two files of a folder differ by an "s" alone. Run by
 * `npm run check`. A module that passes on another's export says so with `export … from`, which does not count.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

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

const exported = files.filter((file) => file.startsWith('src/')).flatMap(namesIn);
const problems = [
  ...doublesOf(exported).map(([name, all]) => `${name} is exported by ${all.join(' and ')}: qualify one name.`),
  ...doublesOf(files.map((file) => ({ name: withoutPlural(file), file }))).map(
    ([, all]) => `${all.join(' and ')} differ by an "s": name one after its main export.`,
  ),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

function namesIn(file) {
  const declaration =
    /^export (?:declare |async |abstract )*(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;
  const names = new Set([...readFileSync(file, 'utf8').matchAll(declaration)].map(([, name]) => name));
  return [...names].map((name) => ({ name, file }));
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
