import { createInterface } from 'node:readline/promises';
import { Transform, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { OperatorError } from '../../services/operator-error.ts';

/**
 * Reads one line from stdin, without its line end. Of a pipe or file it reads everything; on a terminal the input is not shown. Throws
 * `OperatorError` if nothing comes within a minute, or if the input is empty or too long.
 */
export async function readSecret(what: string): Promise<string> {
  const signal = AbortSignal.timeout(patienceMs);
  const input = process.stdin.isTTY ? await typed(what, signal) : await piped(what, signal);
  const secret = input.trim();
  if (secret === '') throw new OperatorError(`stdin has no ${what}.`);
  if (secret.length > secretCharsMax) throw new OperatorError(`The ${what} on stdin is too long.`);
  return secret;
}

const patienceMs = 60_000;
const secretCharsMax = 16_000;

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
    throw new OperatorError(`No ${what} was entered.`, { cause });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
