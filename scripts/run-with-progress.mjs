import { spawn } from 'node:child_process';

/**
 * Runs a command quietly, prints its progress every few seconds, and returns its exit code and the end of its output. A signal to this
 * process also ends the command. `timeoutSeconds` limits its duration.
 *
 * @param {{ command: string, args: string[], cwd?: string, env?: NodeJS.ProcessEnv, label: string, timeoutSeconds: number }} options
 * @returns {Promise<{ code: number | null, output: string }>}
 */
export function runWithProgress({ command, args, cwd, env, label, timeoutSeconds }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk) => {
      output = (output + chunk.toString('utf8')).slice(-20_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);

    const startedAt = Date.now();
    const seconds = () => Math.round((Date.now() - startedAt) / 1000);
    const first = setTimeout(() => say(`${label} …`), 1_000);
    const every = setInterval(() => say(`${label} … ${seconds()} s`), 10_000);
    const limit = setTimeout(() => child.kill('SIGKILL'), timeoutSeconds * 1_000);
    let interrupted = false;
    const forward = (signal) => {
      interrupted = true;
      child.kill(signal);
    };
    for (const signal of signals) process.on(signal, forward);

    const finish = (code) => {
      clearTimeout(first);
      clearTimeout(limit);
      clearInterval(every);
      for (const signal of signals) process.off(signal, forward);
      // A person who interrupts one step also wants to skip the next ones.
      if (interrupted) process.exit(130);
      resolve({ code, output });
    };
    child.on('error', (error) => {
      keep(error.message);
      finish(null);
    });
    child.on('close', (code, signal) => {
      if (signal) keep(`\nended by ${signal}`);
      finish(code);
    });
  });
}

/** One progress line. @param {string} text */
export function say(text) {
  process.stdout.write(`tollgate: ${text}\n`);
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
