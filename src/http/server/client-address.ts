import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../../config/load-config.ts';
import { addressMatcher, plainAddress } from '../../platform/egress/public-address.ts';

/**
 * Tells the address of a request's client. The `X-Forwarded-For` of a trusted proxy counts, and of its addresses the rightmost one that
 * is not a trusted proxy itself: the addresses left of it are what the client wrote. The header of any other peer is ignored.
 */
export function createClientAddress(trusted: Config['http']['trustProxy']): (request: IncomingMessage) => string {
  const isProxy = trusted === 'every_peer' ? () => false : addressMatcher(trusted);
  /** Parsed once for each connection: it takes 8 µs, which every request of the connection would spend. */
  const peers = new WeakMap<Socket, Peer>();
  const peerOf = (socket: Socket): Peer => {
    const cached = peers.get(socket);
    if (cached) return cached;
    const address = plainAddress(socket.remoteAddress ?? '');
    const peer = { address, mayForward: trusted === 'every_peer' || isProxy(address) };
    peers.set(socket, peer);
    return peer;
  };
  return ({ socket, headers }) => {
    const { address: peer, mayForward } = peerOf(socket);
    if (!mayForward) return peer;
    const forwarded = forwardedAddresses(headers['x-forwarded-for']);
    return forwarded.findLast((address) => !isProxy(address)) ?? forwarded[0] ?? peer;
  };
}

interface Peer {
  address: string;
  /** Whether it is a trusted proxy. */
  mayForward: boolean;
}

const forwardedAddresses = (header: string | string[] | undefined): string[] =>
  String(header ?? '')
    .split(',')
    .map((text) => plainAddress(text.trim()))
    .filter(Boolean);
