/**
 * Everything that is held without running the code: words, names, sizes, types, lint, format and layers. Run by `npm run check`.
 * The steps do not depend on each other, so that as many run together as there are processors, the longest first. Each prints what it found
 * when it ends, and all run, so that one call shows every fault. Ends with code 1 if a step failed.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

const steps = [
  'eslint .',
  'tsc -p .',
  'prettier --cache --check .',
  'depcruise src packages console/src --config .dependency-cruiser.cjs',
  'tsc -p console',
  'tsc -p packages/tollgate-js --noEmit',
  'node scripts/check-words.mjs',
  'node scripts/check-names.mjs',
  'node scripts/check-size.mjs',
];

/** ESLint and the compiler take a gigabyte each. */
const togetherMax = 4;

const lane = async () => {
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) await runStep(step);
};
await Promise.all(Array.from({ length: Math.min(availableParallelism(), togetherMax) }, lane));

/** Prints the output of a step as one piece, because others run beside it. */
async function runStep(step) {
  const began = performance.now();
  const child = spawn(step, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
  const code = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  process.stdout.write(`${code === 0 ? 'ok' : 'FAILED'}  ${step}  (${seconds} s)\n`);
  if (code !== 0) process.stdout.write(Buffer.concat(output));
  if (code !== 0) process.exitCode = 1;
}
