import { drillRestore, type DrillRow } from './restore.ts';

/** `npm run drill -- restore`: restores a gateway under load on this machine. docs/BACKUP.md says what it proves. Exits 0 if every row is right. */
const name = process.argv[2] ?? '';
if (name !== 'restore') {
  process.stderr.write('npm run drill -- restore\n');
  process.exit(2);
}
const rows: DrillRow[] = [];
for (const temporal of ['ahead', 'empty'] as const) {
  rows.push(...(await drillRestore(temporal, (line) => process.stderr.write(`Temporal ${temporal}: ${line}\n`))));
}
const widths = { temporal: 8, part: 9, found: Math.max(...rows.map(({ found }) => found.length)) };
const line = (temporal: string, part: string, found: string, ok: string) =>
  `| ${temporal.padEnd(widths.temporal)} | ${part.padEnd(widths.part)} | ${found.padEnd(widths.found)} | ${ok.padEnd(5)} |\n`;
process.stdout.write(line('Temporal', 'part', 'found', 'right'));
process.stdout.write(line('-'.repeat(8), '-'.repeat(9), '-'.repeat(widths.found), '-----'));
for (const { temporal, part, found, ok } of rows) process.stdout.write(line(temporal, part, found, ok ? 'yes' : 'NO'));
process.exit(rows.every(({ ok }) => ok) ? 0 : 1);
