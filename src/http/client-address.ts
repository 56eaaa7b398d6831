import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config/load-config.ts';
import { addressMatcher, plainAddress } from '../platform/egress/public-address.ts';

/**
 * Tells the address of a request's client. The `X-Forwarded-For` of a trusted proxy counts, and of its addresses the rightmost one that
 * is not a trusted proxy itself: the addresses left of it are what the client wrote. The header of any other peer is ignored.
 */
export function createClientAddress(trusted: Config['http']['trustProxy']): (request: IncomingMessage) => string {
  const isProxy = trusted === 'every_peer' ? () => false : addressMatcher(trusted);
  return ({ socket, headers }) => {
    const peer = peerOf(socket);
    if (trusted !== 'every_peer' && !isProxy(peer)) return peer;
    const forwarded = forwardedAddresses(headers['x-forwarded-for']);
    return forwarded.findLast((address) => !isProxy(address)) ?? forwarded[0] ?? peer;
  };
}

/** The address of each connection, parsed once: it takes 8 µs, which every request of the connection would spend. */
const peers = new WeakMap<Socket, string>();

function peerOf(socket: Socket): string {
  const peer = peers.get(socket) ?? plainAddress(socket.remoteAddress ?? '');
  peers.set(socket, peer);
  return peer;
}

const forwardedAddresses = (header: string | string[] | undefined): string[] =>
  String(header ?? '')
    .split(',')
    .map((text) => plainAddress(text.trim()))
    .filter(Boolean);
