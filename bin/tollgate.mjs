#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Runs the command line on the Node that the project installs, whatever Node called it; where only what production needs
 * is installed, on the one that called it. What was compiled once is kept for the next start, which then takes half of the time.
 */
const ownNode = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
const hasOwnNode = existsSync(ownNode);
const cli = new URL('../src/main/cli.ts', import.meta.url);

if (!existsSync(new URL('../node_modules/commander', import.meta.url)) || !(hasOwnNode || isNewEnough())) {
  process.stderr.write('tollgate: the packages are missing; run "npm install" in the project folder first\n');
  process.exit(1);
}
if (hasOwnNode ? realpathSync(ownNode) === realpathSync(process.execPath) : isNewEnough()) {
  module.enableCompileCache?.();
  const { runCli } = await import(cli.href);
  await runCli();
} else runOn(ownNode);

function isNewEnough() {
  return Number.parseInt(process.versions.node) >= 24;
}

/** Runs it in a process of another Node, which receives this one's signals. */
function runOn(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const forward = (signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, forward);
  child.on('error', (error) => {
    process.stderr.write(`tollgate: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const name of signals) process.off(name, forward);
    process.kill(process.pid, signal);
  });
}
