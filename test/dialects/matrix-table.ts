import { dialectNames, familyNames, featureNames, features, outcomeOf, type Outcome } from './matrix.ts';

/** The table of docs/API.md: which feature works in which dialect with the models of which family. */
export function matrixTable(): string {
  const rows = featureNames.map((feature) => [
    features[feature],
    ...dialectNames.map((dialect) => {
      const families = new Map<string, string[]>();
      for (const family of familyNames) {
        const word = wordOf(outcomeOf(feature, dialect, family));
        families.set(word, [...(families.get(word) ?? []), family]);
      }
      return families.size === 1
        ? [...families.keys()].join('')
        : [...families].map(([word, names]) => `${names.join(', ')}: ${word}`).join('; ');
    }),
  ]);
  const head = ['', ...dialectNames.map((name) => name.charAt(0).toUpperCase() + name.slice(1))];
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function wordOf(outcome: Outcome): string {
  if (typeof outcome === 'object') return `400 \`${outcome.refused}\``;
  return { yes: 'yes', warning: 'no effect, with a warning', 'no field': 'no field for it', 'not there': 'none' }[
    outcome
  ];
}
