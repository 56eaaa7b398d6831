import { lookup, Resolver } from 'node:dns/promises';

export interface ResolvedAddress {
  address: string;
  family: number;
}

/**
 * All addresses of a name that somebody else chose, IPv4 and IPv6 by turns, as the nameservers tell them: no /etc/hosts, no
 * search list. Rejects where there is none. `ended` calls the queries off, for whoever runs the name's own nameserver may
 * leave them unanswered; the system's look-up would then hold one of the few threads that all look-ups share.
 */
export async function askNameservers(
  name: string,
  { nameservers, ended }: { nameservers: readonly string[] | undefined; ended: AbortSignal },
): Promise<ResolvedAddress[]> {
  // One for each look-up: `cancel` ends all queries of a resolver, and a new one reads /etc/resolv.conf as it is now.
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES_MAX });
  if (nameservers) resolver.setServers(nameservers);
  const cancel = () => resolver.cancel();
  ended.addEventListener('abort', cancel);
  try {
    const families = await Promise.allSettled([
      resolver.resolve4(name).then((addresses) => addresses.map((address) => ({ address, family: 4 }))),
      resolver.resolve6(name).then((addresses) => addresses.map((address) => ({ address, family: 6 }))),
    ]);
    // A family without an answer is one that nobody connects to, so the other one's addresses are all there is to judge.
    const told = families.flatMap((family) => (family.status === 'fulfilled' ? [family.value] : []));
    const failed = families.find((family) => family.status === 'rejected');
    if (told.length === 0 && failed) throw failed.reason;
    return byTurns(told);
  } finally {
    ended.removeEventListener('abort', cancel);
  }
}

/** All addresses of a name that an operator chose: as the system finds it, also in /etc/hosts. It cannot be called off. */
export const lookUpWithSystem = (name: string): Promise<ResolvedAddress[]> =>
  lookup(name, { all: true, order: 'verbatim' });

/** Doubled at the second try: a nameserver has some six seconds, so one family's silence leaves a callback time for the other. */
const QUERY_TIMEOUT_MS = 2_000;
const QUERY_TRIES_MAX = 2;

/** The first of each list, then the second of each: who connects only to the first few has both families among them. */
function byTurns<T>(lists: readonly T[][]): T[] {
  const turns = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: turns }, (_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1))).flat();
}
