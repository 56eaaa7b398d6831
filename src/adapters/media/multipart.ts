import { randomUUID } from 'node:crypto';

/** One part of a form: a field, or a file with its bytes. */
export type FormPart =
  { name: string; value: string } | { name: string; fileName: string; type: string; bytes: Buffer };

/** multipart/form-data (RFC 7578). Names, file names and types are not escaped, so they must be our own. */
export function multipart(parts: readonly FormPart[]): { type: string; bytes: Buffer } {
  const boundary = `tollgate-${randomUUID()}`;
  const pieces = parts.flatMap((part) => {
    const file = 'bytes' in part ? `; filename="${part.fileName}"\r\nContent-Type: ${part.type}` : '';
    return [
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${part.name}"${file}\r\n\r\n`),
      'bytes' in part ? part.bytes : Buffer.from(part.value),
      Buffer.from('\r\n'),
    ];
  });
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    bytes: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  };
}
