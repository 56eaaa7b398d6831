import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { gzip } from 'node:zlib';

/**
 * Scalar's browser script, compressed. Its plugin for Fastify has it as one string literal in its module, and is 25 times smaller
 * than the package that has it as a file (docs/DECISIONS.md, record 69). Throws if the module has no such literal.
 */
export async function scalarScript(): Promise<Buffer> {
  const module = await readFile(createRequire(import.meta.url).resolve('@scalar/fastify-api-reference'), 'utf8');
  const literal = literalIn(module);
  if (literal === null) throw new Error('@scalar/fastify-api-reference has no script where it is expected');
  // The literal is JavaScript, not JSON. Evaluated by itself it can do nothing but become a string.
  const text: unknown = runInNewContext(literal);
  return promisify(gzip)(String(text));
}

const beginning = '\nvar standalone_default = ';

/** The string literal of the script, a line of megabytes. A regular expression would need a step of its stack for each character. */
function literalIn(module: string): string | null {
  const at = module.indexOf(beginning);
  if (at === -1) return null;
  const [line = ''] = module.slice(at + beginning.length).split('\n', 1);
  return line.startsWith('"') && line.endsWith('";') ? line.slice(0, -1) : null;
}
