/** Another gateway that is already running. */
export interface Peer {
  name: string;
  origin: string;
  path: string;
  headers: Record<string, string>;
  /** The process whose CPU is measured; without one the column stays empty. */
  pid: number | null;
}

/**
 * Reads `BENCH_PEERS`: peers separated by semicolons, each `name=URL` and then headers as `name=value`, separated by commas. `@pid=N`
 * names its process, and `{upstream}` in a value is the address of the mock upstream. Throws for anything else.
 */
export function readPeers(text: string, upstreamUrl: string): Peer[] {
  return text
    .split(';')
    .filter((peer) => peer.trim() !== '')
    .map((peer) => {
      const [[name, address], ...options] = peer.split(',').map((part): [string, string] => {
        const at = part.indexOf('=');
        if (at < 1) throw new Error(`BENCH_PEERS: ${part} is not name=value`);
        return [part.slice(0, at).trim(), part.slice(at + 1).replaceAll('{upstream}', upstreamUrl)];
      }) as [[string, string], ...[string, string][]];
      const url = new URL(address);
      const pid = options.find(([option]) => option === '@pid')?.[1];
      const headers = Object.fromEntries(options.filter(([option]) => option !== '@pid'));
      return { name, origin: url.origin, path: `${url.pathname}${url.search}`, headers, pid: pid ? Number(pid) : null };
    });
}
