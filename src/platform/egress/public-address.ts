import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Whether an IP address is on the public internet (rules "Egress guard"): `unicast` by ipaddr.js, for IPv6 also in 2000::/3, and
 * no internal address of a cloud provider. Any text that is not a full IP address is not public.
 */
export function isPublicAddress(ip: string): boolean {
  // ipaddr.js alone would also accept shorthand and octal notation, which a resolver never returns.
  if (isIP(ip) === 0 || ip.includes('%')) return false;
  const address = ipaddr.parse(ip);
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv6' ? address.match(GLOBAL_UNICAST) : !CLOUD_ADDRESSES.has(address.toString());
}

/** An address without brackets and port, which some proxies add. IPv4 that is mapped into IPv6 is IPv4. Any other text stays as it is. */
export function plainAddress(text: string): string {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(bare) === 0 ? bare : ipaddr.process(bare).toString();
}

/** Whether the text is an IPv4 or IPv6 range such as `127.0.0.0/8`. */
export const isCidr = (text: string): boolean => ipaddr.isValidCIDR(text);

/** The range as a CIDR; a single address is a range of its own. Null if the text is neither. */
export function toCidr(text: string): string | null {
  if (isCidr(text)) return text;
  return isIP(text) === 0 || text.includes('%') ? null : `${text}/${isIP(text) === 4 ? 32 : 128}`;
}

/** This machine. */
export const loopbackCidrs: readonly string[] = ['127.0.0.0/8', '::1/128'];

/** A test for membership in any of the CIDRs. Throws an error that names an invalid CIDR. */
export function addressMatcher(cidrs: readonly string[]): (ip: string) => boolean {
  const ranges = cidrs.map((cidr) => {
    if (!isCidr(cidr)) throw new Error(`"${cidr}" is not a CIDR such as 10.0.0.0/8.`);
    return ipaddr.parseCIDR(cidr);
  });
  return (ip) => {
    if (isIP(ip) === 0 || ip.includes('%')) return false;
    const address = ipaddr.parse(ip);
    return ranges.some((range) => range[0].kind() === address.kind() && address.match(range));
  };
}

// All global unicast that IANA has allocated (RFC 4291 §2.4). ipaddr.js also calls 4000::1 and ::a9fe:a9fe unicast.
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

// Azure's host agent has a public address that is reachable from inside Azure only, and it returns secrets.
const CLOUD_ADDRESSES = new Set(['168.63.129.16']);
