#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Runs the command line on the Node that the project installs, whatever Node called it; where only what production needs
 * is installed, on the one that called it.
 */
const ownNode = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
const node = !existsSync(ownNode) && Number.parseInt(process.versions.node) >= 24 ? process.execPath : ownNode;
const cli = fileURLToPath(new URL('../src/main/cli.ts', import.meta.url));

if (!existsSync(node) || !existsSync(new URL('../node_modules/commander', import.meta.url))) {
  process.stderr.write('tollgate: the packages are missing; run "npm install" in the project folder first\n');
  process.exit(1);
}
const child = spawn(node, [cli, ...process.argv.slice(2)], { stdio: 'inherit' });
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
