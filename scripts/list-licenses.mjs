// Lists the licences of the packages that production uses, with the packages of each. Fails for one that is not in the list below: its terms
// must be read before it enters the image.
import { readFileSync } from 'node:fs';

const accepted = [
  'Apache-2.0',
  'MIT',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'CC0-1.0',
  'Python-2.0',
  'BlueOak-1.0.0',
  'Unlicense',
  'MIT-0',
];
/**
 * Accepted for these packages alone: the library behind sharp, which is linked as a shared library of its own package; a table of data; and a
 * package whose file LICENSE is the Unlicense although its manifest names none.
 */
const acceptedOf = {
  'LGPL-3.0-or-later': /^@img\/sharp-/,
  'CC-BY-4.0': /^caniuse-lite$/,
  none: /^unionfs$/,
};

const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
const byLicense = new Map();
for (const [path, { version, license = 'none', dev, devOptional, link }] of Object.entries(packages)) {
  const name = path.split('node_modules/').at(-1);
  if (!path.includes('node_modules/') || dev || devOptional || link) continue;
  byLicense.set(license, [...(byLicense.get(license) ?? []), { name, text: `${name}@${version}` }]);
}
const isAccepted = (license, name) =>
  license
    .replace(/[()]/g, '')
    .split(' OR ')
    .some((choice) =>
      choice.split(' AND ').every((one) => accepted.includes(one) || acceptedOf[one]?.test(name) === true),
    );

for (const [license, list] of [...byLicense].sort()) {
  process.stdout.write(
    `${license} (${list.length}): ${list
      .map(({ text }) => text)
      .sort()
      .join(', ')}\n`,
  );
}
const refused = [...byLicense].flatMap(([license, list]) =>
  list.filter(({ name }) => !isAccepted(license, name)).map(({ text }) => `${text} is under ${license}`),
);
if (refused.length > 0) {
  process.stderr.write(`Licences that are not accepted:\n${refused.join('\n')}\n`);
  process.exitCode = 1;
}
