import { readFile, writeFile } from 'node:fs/promises';
import { format } from 'prettier';

export interface Measured {
  /** What was measured, such as `chat`. */
  request: string;
  quietMs: number;
  attackedMs: number;
}

const file = new URL('../../docs/ISOLATION.md', import.meta.url);

/** Replaces the rows of an attack in the table of measurements, which ends `docs/ISOLATION.md`. */
export async function recordMeasurements(attack: string, measured: readonly Measured[]): Promise<void> {
  const row = ({ request, quietMs, attackedMs }: Measured): string =>
    `| ${attack} | ${request} | ${Math.round(quietMs)} | ${Math.round(attackedMs)} |`;
  const kept = (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .filter((line) => line.split('|')[1]?.trim() !== attack || line.split('|').length !== 6);
  const text = [...kept, ...measured.map(row), ''].join('\n');
  await writeFile(file, await format(text, { parser: 'markdown', printWidth: 120 }));
}
