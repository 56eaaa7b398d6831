import { readFile, writeFile } from 'node:fs/promises';
import { format } from 'prettier';

export interface Measured {
  /** What was measured, such as `chat`. */
  request: string;
  quietMs: number;
  attackedMs: number;
}

const file = new URL('../../docs/ISOLATION.md', import.meta.url);
const benchmarks = new URL('../../docs/BENCHMARKS.md', import.meta.url);

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

export interface Peak {
  route: string;
  /** Of one answer. */
  answerBytes: number;
  /** Of the whole process, while the clients do not read the answers. */
  peakBytes: number;
}

/** Replaces the table of the section about unread answers in `docs/ISOLATION.md`. */
export const recordPeaks = (peaks: readonly Peak[]): Promise<void> =>
  replaceTable('Unread answers', [
    '| Route | Answer in kB | Peak in MB |',
    '| --- | --- | --- |',
    ...peaks.map(
      ({ route, answerBytes, peakBytes }) =>
        `| ${route} | ${Math.ceil(answerBytes / 1_000)} | ${Math.round(peakBytes / 1_000_000)} |`,
    ),
  ]);

export interface BodyPeak {
  attack: string;
  /** Of the whole process. */
  peakBytes: number;
}

/** Replaces the table of the section about large bodies. */
export const recordBodyPeaks = (peaks: readonly BodyPeak[]): Promise<void> =>
  replaceTable('Large bodies', [
    '| Attack | Peak in MB |',
    '| --- | --- |',
    ...peaks.map(({ attack, peakBytes }) => `| ${attack} | ${Math.round(peakBytes / 1_000_000)} |`),
  ]);

export interface ImportedWhileServing {
  what: string;
  p50Ms: number;
  p95Ms: number;
  chats: number;
}

/** Replaces the table of the section about imports in `docs/BENCHMARKS.md`. */
export const recordImport = (rows: readonly ImportedWhileServing[]): Promise<void> =>
  replaceTable(
    'Imports',
    [
      '| Chats | p50 ms | p95 ms | chats |',
      '| --- | ---: | ---: | ---: |',
      ...rows.map(
        ({ what, p50Ms, p95Ms, chats }) => `| ${what} | ${p50Ms.toFixed(1)} | ${p95Ms.toFixed(1)} | ${chats} |`,
      ),
    ],
    benchmarks,
  );

/** Replaces the table that ends a section. */
async function replaceTable(heading: string, table: readonly string[], document = file): Promise<void> {
  const [before = '', rest = ''] = (await readFile(document, 'utf8')).split(new RegExp(`(?=^## ${heading}$)`, 'm'));
  const [title = '', ...sections] = rest.split(/(?=^## )/m);
  const prose = title
    .split('\n')
    .filter((line) => !line.startsWith('|'))
    .join('\n')
    .trimEnd();
  const text = `${before}${prose}\n\n${table.join('\n')}\n\n${sections.join('')}`;
  await writeFile(document, await format(text, { parser: 'markdown', printWidth: 120 }));
}
