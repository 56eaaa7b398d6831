import { readFile, stat } from 'node:fs/promises';
import { OperatorError } from '../../services/operator-error.ts';

/** A longer text than that of a larger file does not fit into a string of JavaScript. */
const FILE_BYTES_MAX = 300_000_000;

/** A URL as it is; any other text is the path of a file of this machine, and becomes a `data:` URI with its bytes. Throws `OperatorError`. */
export async function readResult(location: string): Promise<string> {
  if (/^https?:\/\//i.test(location)) return location;
  const found = await stat(location).catch((cause: unknown) => {
    throw new OperatorError(`The file ${location} cannot be read.`, { cause });
  });
  if (found.size > FILE_BYTES_MAX) {
    throw new OperatorError(`The file ${location} has more than ${FILE_BYTES_MAX} bytes. Give its URL instead.`);
  }
  return `data:application/octet-stream;base64,${(await readFile(location)).toString('base64')}`;
}
