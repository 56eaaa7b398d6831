import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Whether an IP address is on the public internet: `unicast` to ipaddr.js, for IPv6 also inside 2000::/3, and none of the
 * addresses that clouds answer on from inside (rules "Egress guard"). Anything that is not plainly an address is not public.
 */
export function isPublicAddress(ip: string): boolean {
  // isIP first: ipaddr.js also reads shorthand and octal, which a resolver never gives.
  if (isIP(ip) === 0 || ip.includes('%')) return false;
  const address = ipaddr.parse(ip);
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv6' ? address.match(GLOBAL_UNICAST) : !CLOUD_ADDRESSES.has(address.toString());
}

/** Whether the text is an IPv4 or IPv6 range such as `127.0.0.0/8`. */
export const isCidr = (text: string): boolean => ipaddr.isValidCIDR(text);

/** A test for membership in any of the CIDRs. Throws for a CIDR that cannot be read, naming it. */
export function addressMatcher(cidrs: readonly string[]): (ip: string) => boolean {
  const ranges = cidrs.map((cidr) => {
    if (!isCidr(cidr)) throw new Error(`not a CIDR: ${cidr}`);
    return ipaddr.parseCIDR(cidr);
  });
  return (ip) => {
    if (isIP(ip) === 0 || ip.includes('%')) return false;
    const address = ipaddr.parse(ip);
    return ranges.some((range) => range[0].kind() === address.kind() && address.match(range));
  };
}

// RFC 4291 §2.4: all global unicast that IANA has given out. ipaddr.js calls 4000::1 and ::a9fe:a9fe unicast too.
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

// Azure's host agent: a public number that is only reachable, and answers with secrets, from inside.
const CLOUD_ADDRESSES = new Set(['168.63.129.16']);
