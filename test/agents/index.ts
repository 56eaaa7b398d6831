import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientsPage } from './clients-page.ts';
import { startDev, type Dev } from './dev.ts';
import { install } from './install.ts';
import { FieldLog } from './field-log.ts';
import { programs, type Program } from './programs.ts';
import { startRecorder, type Recorder } from './recorder.ts';
import { runProgram, type Result } from './run-program.ts';

/**
 * `npm run test:agents [-- --latest] [-- --keep=FOLDER] [-- NAME…]`: installs programs that people use into a cache folder and lets each do a task
 * with tools against a gateway with the sandbox as its provider, on a model of three families and with its default model. Writes the results into
 * the table of docs/CLIENTS.md and the fields that the programs send into recorded-fields.json, for the programs that ran, and ends with
 * `N passed, N failed`.
 *
 * With `--latest` it installs the newest versions instead of the pinned ones, writes nothing, and lists the fields that no pinned version sends. `--keep` writes
 * the requests as they came into a folder outside of the repository.
 */
const families = { Anthropic: 'claude-haiku-5.5', OpenAI: 'gpt-5-mini', Gemini: 'gemini-3.5-flash-lite' };
const options = process.argv.slice(2);
const isLatest = options.includes('--latest');
const kept = options.find((word) => word.startsWith('--keep='))?.slice('--keep='.length);
const wanted = options.filter((word) => !word.startsWith('--')).map((word) => word.toLowerCase());
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tollgate', 'agents');
const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const pageFile = fileOf('../../docs/CLIENTS.md');
const fieldsFile = fileOf('recorded-fields.json');

const fields = new FieldLog(existsSync(fieldsFile) ? readFileSync(fieldsFile, 'utf8') : '{}');

async function tryProgram(program: Program, bin: string, scene: { dev: Dev; recorder: Recorder }): Promise<Result[]> {
  const results: Result[] = [];
  const models = [...Object.entries(families), ...(program.hasDefaultModel ? [['its default model', '']] : [])];
  for (const [family = '', model = ''] of models) {
    const home = mkdtempSync(join(tmpdir(), 'tollgate-agent-'));
    try {
      const { outcome, requests } = await runProgram(program, { ...scene, bin, home, model });
      process.stdout.write(`${program.name}, ${family}: ${outcome}\n`);
      results.push({ program: program.name, family, outcome });
      fields.add(program.name, requests);
      if (kept !== undefined)
        writeFileSync(join(kept, `${program.name} ${family}.json`), JSON.stringify(requests, null, 1));
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }
  return results;
}

for (const folder of [cache, kept]) if (folder !== undefined) mkdirSync(folder, { recursive: true });
const dev = await startDev();
const recorder = await startRecorder(dev.baseUrl);
const results: Result[] = [];
try {
  for (const program of programs) {
    if (wanted.length > 0 && !wanted.some((word) => program.name.toLowerCase().includes(word))) continue;
    const bin = install(program, { cache, isLatest });
    if (bin === null) process.stdout.write(`${program.name}: not tried, because it could not be installed\n`);
    else results.push(...(await tryProgram(program, bin, { dev, recorder })));
  }
} finally {
  await recorder.close();
  await dev.stop();
}
if (isLatest) for (const line of fields.newFields()) process.stdout.write(`${line}\n`);
else {
  writeFileSync(pageFile, clientsPage(readFileSync(pageFile, 'utf8'), results));
  writeFileSync(fieldsFile, fields.toText());
}
const failed = results.filter(({ outcome }) => outcome !== 'works').length;
process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
