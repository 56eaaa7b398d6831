import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDev, type Dev } from './dev.ts';
import { install } from './install.ts';
import { programs, type Program } from './programs.ts';
import { runProgram, type Result } from './run-program.ts';
import { clientsPage } from './clients-page.ts';

/**
 * `npm run test:agents [-- --latest] [-- NAME…]`: installs programs that people use into a cache folder and lets each do a task with tools
 * against a gateway with the sandbox as its provider, on a model of three families and with its default model. Writes the table of docs/CLIENTS.md and
 * ends with `N passed, N failed`. With `--latest` it installs the newest versions instead of the pinned ones, and leaves the table as it is.
 */
const families = { Anthropic: 'claude-haiku-5.5', OpenAI: 'gpt-5-mini', Gemini: 'gemini-3.5-flash-lite' };
const isLatest = process.argv.includes('--latest');
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tollgate', 'agents');

async function tryProgram(program: Program, dev: Dev, bin: string): Promise<Result[]> {
  const results: Result[] = [];
  const models = [...Object.entries(families), ...(program.defaultModel === null ? [] : [['its default model', '']])];
  for (const [family = '', model = ''] of models) {
    const home = mkdtempSync(join(tmpdir(), 'tollgate-agent-'));
    try {
      const outcome = await runProgram(program, { dev, bin, home, model });
      process.stdout.write(`${program.name}, ${family}: ${outcome}\n`);
      results.push({ program: program.name, family, outcome });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }
  return results;
}

mkdirSync(cache, { recursive: true });
const dev = await startDev();
const results: Result[] = [];
try {
  for (const program of programs) {
    if (wanted.length > 0 && !wanted.some((word) => program.name.toLowerCase().includes(word.toLowerCase()))) continue;
    const bin = install(program, { cache, isLatest });
    if (bin === null) {
      process.stdout.write(`${program.name}: not tried, because it could not be installed\n`);
      continue;
    }
    results.push(...(await tryProgram(program, dev, bin)));
  }
} finally {
  await dev.stop();
}
const page = fileURLToPath(new URL('../../docs/CLIENTS.md', import.meta.url));
if (wanted.length === 0 && !isLatest) {
  writeFileSync(page, clientsPage(existsSync(page) ? readFileSync(page, 'utf8') : '', results));
}
const failed = results.filter(({ outcome }) => outcome !== 'works').length;
process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
