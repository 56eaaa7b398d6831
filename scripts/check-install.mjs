// Fails unless every installed package is exactly one of package-lock.json: the same place, version, source and hash.
// `npm ci` would check this, but it refuses a lock file without the optional packages of other systems.
import { readFileSync } from 'node:fs';

const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
const locked = packagesOf('package-lock.json');
// The packages of this repository are for developers; an image has only what comes from a registry.
const isOurs = (path, { link }) => link === true || path.startsWith('packages/');
const installed = Object.entries(packagesOf('node_modules/.package-lock.json')).filter((entry) => !isOurs(...entry));

const problems = installed.flatMap(([path, { version, integrity, resolved }]) => {
  const expected = locked[path];
  if (!expected) return [`${path}@${version} is not in package-lock.json`];
  if (!integrity || integrity !== expected.integrity) return [`${path} has another hash than package-lock.json`];
  const sameSource =
    !expected.resolved || !resolved || new URL(resolved).pathname === new URL(expected.resolved).pathname;
  return version === expected.version && sameSource
    ? []
    : [`${path} is ${version}, package-lock.json has ${expected.version}`];
});
// What production needs and the install left out. An optional package may be of another system.
const present = new Set(installed.map(([path]) => path));
for (const [path, entry] of Object.entries(locked)) {
  const { dev, optional, devOptional, peer } = entry;
  if (path !== '' && !isOurs(path, entry) && !dev && !optional && !devOptional && !peer && !present.has(path))
    problems.push(`${path} is missing`);
}
if (installed.length === 0) problems.push('nothing is installed');
if (problems.length > 0) {
  process.stderr.write(`The installed packages are not those of package-lock.json:\n${problems.join('\n')}\n`);
  process.exit(1);
}
