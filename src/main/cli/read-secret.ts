import { createInterface } from 'node:readline/promises';
import { Transform, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { OperatorError } from '../../commands/operator-error.ts';

/**
 * One line from stdin, without its line end: of a pipe or file all there is, of a terminal what is typed, which is not shown.
 * Throws `OperatorError` when nothing comes within a minute, or when it is empty or too long for a secret.
 */
export async function readSecret(what: string): Promise<string> {
  const signal = AbortSignal.timeout(patienceMs);
  const given = process.stdin.isTTY ? await typed(what, signal) : await piped(what, signal);
  const secret = given.trim();
  if (secret === '') throw new OperatorError(`stdin has no ${what}.`);
  if (secret.length > secretCharsMax) throw new OperatorError(`The ${what} on stdin is too long.`);
  return secret;
}

const patienceMs = 60_000;
export const secretCharsMax = 16_000;

async function piped(what: string, signal: AbortSignal): Promise<string> {
  let left = secretCharsMax * 4;
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      done(left < 0 ? new OperatorError(`The ${what} on stdin is too long.`) : null, chunk);
    },
  });
  signal.addEventListener('abort', () => bounded.destroy(new OperatorError(`stdin has no ${what}.`)));
  process.stdin.on('error', (error) => bounded.destroy(error));
  try {
    return await text(process.stdin.pipe(bounded));
  } finally {
    process.stdin.unpipe(bounded).pause();
  }
}

async function typed(what: string, signal: AbortSignal): Promise<string> {
  process.stderr.write(`${what}: `);
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: unseen, terminal: true });
  const ended = new AbortController();
  lines.on('SIGINT', () => ended.abort());
  try {
    return await lines.question('', { signal: AbortSignal.any([signal, ended.signal]) });
  } catch (cause) {
    throw new OperatorError(`No ${what} was typed.`, { cause });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
