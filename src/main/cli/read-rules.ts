import { readFile, stat } from 'node:fs/promises';
import { OperatorError } from '../../services/operator-error.ts';

/** More than the rules of a plan may have, so that a wrong file does not fill the memory. */
const FILE_BYTES_MAX = 1_000_000;

/** The text of a file of this machine. Throws `OperatorError`. */
export async function readRules(path: string): Promise<string> {
  try {
    if ((await stat(path)).size <= FILE_BYTES_MAX) return await readFile(path, 'utf8');
  } catch (cause) {
    throw new OperatorError(`The file ${path} cannot be read.`, { cause });
  }
  throw new OperatorError(`The file ${path} has more than ${FILE_BYTES_MAX} bytes.`);
}
