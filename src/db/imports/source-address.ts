import { SourceError } from './source-database.ts';

/** The address of a server, and its name for messages, which has no password. Throws `SourceError` for one that cannot be read or has no database. */
export function readSourceAddress(kind: string, text: string): { url: URL; name: string } {
  const url = URL.canParse(text) ? new URL(text) : null;
  // Behind the host it is the rest of a password that is not encoded, whose beginning would be in the messages as the host.
  if (!url || `${url.pathname}${url.search}${url.hash}`.includes('@'))
    throw new SourceError(
      `The ${kind} address of --from cannot be read. Encode the signs of its password: / is %2F, ? is %3F, # is %23, @ is %40.`,
    );
  if (url.pathname.length < 2) throw new SourceError(`The ${kind} address of --from does not name a database.`);
  return { url, name: `${kind} database ${url.host}${url.pathname}` };
}
