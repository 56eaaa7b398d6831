import { lookup, Resolver } from 'node:dns/promises';

export interface ResolvedAddress {
  address: string;
  family: number;
}

/**
 * All addresses of an untrusted name from the nameservers, IPv4 and IPv6 alternating, without /etc/hosts and search list. Rejects
 * if there is none. `ended` cancels the queries, because the name's own nameserver may leave them unanswered. The system's lookup
 * cannot be cancelled and would block one of the few threads that all lookups share.
 */
export async function queryNameservers(
  name: string,
  { nameservers, ended }: { nameservers: readonly string[] | undefined; ended: AbortSignal },
): Promise<ResolvedAddress[]> {
  // One resolver per lookup, because `cancel` ends all its queries and a new one reads the current /etc/resolv.conf.
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES_MAX });
  if (nameservers) resolver.setServers(nameservers);
  const cancel = () => resolver.cancel();
  ended.addEventListener('abort', cancel);
  try {
    const families = await Promise.allSettled([
      resolver.resolve4(name).then((addresses) => addresses.map((address) => ({ address, family: 4 }))),
      resolver.resolve6(name).then((addresses) => addresses.map((address) => ({ address, family: 6 }))),
    ]);
    // If one family has no answer, we connect to the other family only, so its addresses are the only ones to check.
    const answers = families.flatMap((family) => (family.status === 'fulfilled' ? [family.value] : []));
    const failed = families.find((family) => family.status === 'rejected');
    if (answers.length === 0 && failed) throw failed.reason;
    return alternating(answers);
  } finally {
    ended.removeEventListener('abort', cancel);
  }
}

/** All addresses of a name that an operator configured, from the system, /etc/hosts included. It cannot be cancelled. */
export const lookupWithSystem = (name: string): Promise<ResolvedAddress[]> =>
  lookup(name, { all: true, order: 'verbatim' });

/** The second try has twice the time. If one family gets no answer within these 6 s, a callback still has time for the other. */
const QUERY_TIMEOUT_MS = 2_000;
const QUERY_TRIES_MAX = 2;

/** The first of each list, then the second of each, so that the first few addresses are of both families. */
function alternating<T>(lists: readonly T[][]): T[] {
  const turns = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: turns }, (_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1))).flat();
}
