import { isIP } from 'node:net';
import { isPublicAddress } from './public-address.ts';

/** The use of a URL: a callback, an input from a client, or an output from a provider's reply. */
export type EgressPurpose = 'callback' | 'input' | 'output';

/** Why a URL is refused, and the predicate of the client's error message, such as `callback_url must …`. */
const refusals = {
  /** Not an absolute URL, or with characters that a URL may not contain. */
  malformed: 'must be an absolute https URL',
  too_long: 'must have at most 2,048 characters',
  scheme: 'must be an https URL',
  userinfo: 'must not contain a user name or a password',
  port: 'must use port 443 or another allowed port',
  /** A name of the local network. */
  host: 'must have a public host name',
  /** A private address in the URL's text, or among the addresses of its host name. */
  address: 'must not point to a private address',
} as const;
export type EgressReason = keyof typeof refusals;

/** A URL that the guard refuses. The caller answers `invalid_callback_url` or `invalid_url`. */
export class EgressRefusal extends Error {
  override readonly name = 'EgressRefusal';
  readonly reason: EgressReason;

  constructor(reason: EgressReason) {
    super(refusals[reason]);
    this.reason = reason;
  }
}

const urlCharactersMax = 2_048;

/**
 * Checks a URL by its text, without DNS, and returns it parsed. Throws `EgressRefusal`. The rules about hosts read the parsed host, because
 * `0x7f.1` is 127.0.0.1. Port 443 is always accepted, another one if `isAllowedPort` says so. An address for which `isAllowed` is true may
 * be private, and may have any port and plain http.
 */
export function checkUrl(
  text: string,
  { isAllowedPort, isAllowed }: { isAllowedPort: (port: number) => boolean; isAllowed: (address: string) => boolean },
): URL {
  if (text.length > urlCharactersMax) throw new EgressRefusal('too_long');
  // The parser drops line ends and tabs, and reads `https:/x` and `https:\\x` as https://x. We refuse all of these.
  if (/[\s\p{Cc}\\]/u.test(text) || !text.isWellFormed() || !URL.canParse(text)) throw new EgressRefusal('malformed');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new EgressRefusal('scheme');
  if (!/^https?:\/\/[^/?#]/i.test(text)) throw new EgressRefusal('malformed');
  // The normalised text is stored, and checked again before it is called.
  if (url.href.length > urlCharactersMax) throw new EgressRefusal('too_long');
  if (url.username !== '' || url.password !== '') throw new EgressRefusal('userinfo');

  const host = bareHost(url);
  if (isAllowed(host)) return url;
  if (url.protocol !== 'https:') throw new EgressRefusal('scheme');
  if (isIP(host) === 0 && !isPublicName(host)) throw new EgressRefusal('host');
  if (isIP(host) !== 0 && !isPublicAddress(host)) throw new EgressRefusal('address');
  if (url.port !== '' && !isAllowedPort(Number(url.port))) throw new EgressRefusal('port');
  return url;
}

/** The host without the brackets of an IPv6 literal and without the root dot of a name. */
export const bareHost = (url: URL): string =>
  url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname.replace(/\.$/, '');

/** The origin of an http or https URL, or null for any other text. */
export function originOf(text: string): string | null {
  const url = URL.parse(text);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.origin : null;
}

const localSuffixes = ['localhost', 'local', 'internal', 'home.arpa'];

function isPublicName(host: string): boolean {
  if (host.length > 253 || !/^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/.test(host)) return false;
  return !localSuffixes.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}
