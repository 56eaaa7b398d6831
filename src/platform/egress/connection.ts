import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { SilenceTimer } from '../silence-timer.ts';
import { bareHost, EgressRefusal } from './check-url.ts';
import { asError, Interruption, unlessAborted } from './interruption.ts';
import { isPublicAddress } from './public-address.ts';
import { lookupWithSystem, queryNameservers, type ResolvedAddress } from './resolve-name.ts';
import { skipContinue } from './skip-continue.ts';

export interface ConnectionSettings {
  /** Resolves a name to all its addresses. The default is the system for a trusted origin, and the nameservers otherwise. */
  resolver?: (hostname: string) => Promise<ResolvedAddress[]>;
  /** `address:port` of the nameservers. By default those of /etc/resolv.conf. */
  nameservers?: readonly string[];
  /** Opens a TCP connection to one of the checked addresses. */
  dial?: (addresses: ResolvedAddress[], port: number) => Socket;
  /** PEM roots trusted instead of the system's. */
  ca?: string;
}

interface ConnectOptions {
  /** Whether an operator configured the URL's origin: its addresses may be private. */
  trusted: boolean;
  signal: AbortSignal;
}

/** All addresses are checked, but only the first ones of a name are tried. */
const addressesMax = 4;
const connectTimeoutMs = 5_000;

/**
 * Connects to a checked address of the URL's host, with TLS for https. The name is resolved once, and a single private address
 * refuses it. The connection uses a checked address, so a name that changes its addresses cannot bypass the check. Throws an
 * `EgressRefusal` or an `Interruption`.
 */
export async function openConnection(settings: ConnectionSettings, url: URL, options: ConnectOptions): Promise<Socket> {
  const { signal } = options;
  signal.throwIfAborted();
  const addresses = await unlessAborted(checkedAddresses(settings, url, options), signal);
  const dial = settings.dial ?? dialAny;
  let socket = dial(addresses, Number(url.port) || (url.protocol === 'https:' ? 443 : 80));
  try {
    await reachStage(socket, 'connect', signal);
    if (url.protocol === 'https:') {
      const host = bareHost(url);
      socket = connectTls({
        socket,
        host,
        servername: isIP(host) === 0 ? host : '',
        ALPNProtocols: ['http/1.1'],
        // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot switch it off.
        rejectUnauthorized: true,
        ...(settings.ca === undefined ? {} : { ca: settings.ca }),
      });
      await reachStage(socket, 'secureConnect', signal);
    }
    return skipContinue(socket);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The addresses to connect to: public ones, those of a trusted origin, or a literal that `checkUrl` accepted. */
async function checkedAddresses(
  settings: ConnectionSettings,
  url: URL,
  { trusted, signal }: ConnectOptions,
): Promise<ResolvedAddress[]> {
  const host = bareHost(url);
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  const resolve = settings.resolver ?? (trusted ? lookupWithSystem : queryNameservers);
  const found = await resolve(host, { nameservers: settings.nameservers, ended: signal }).catch((cause: unknown) => {
    throw new Interruption('dns', { cause });
  });
  if (found.length === 0) throw new Interruption('dns');
  if (!trusted && !found.every(({ address }) => isPublicAddress(address))) throw new EgressRefusal('address');
  return found.slice(0, addressesMax);
}

/** Node tries the addresses in turn and starts the next while one is slow (RFC 8305). It does not resolve the name again. */
function dialAny(addresses: ResolvedAddress[], port: number): Socket {
  const [first] = addresses;
  if (!first) throw new Interruption('dns');
  if (addresses.length === 1) return connectTcp({ host: first.address, port });
  return connectTcp({
    host: 'checked.invalid',
    port,
    lookup: (_hostname, _options, callback) => callback(null, addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1_000,
  });
}

/** Waits for a socket's next stage. An error listener stays on the socket: a late reset must not crash the process. */
async function reachStage(socket: Socket, stage: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  const failure = stage === 'connect' ? 'connect' : 'tls';
  socket.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    const onError = (cause: unknown) => settle(new Interruption(failure, { cause }));
    const onClose = () => settle(new Interruption(failure));
    const onReady = () => settle();
    const onAbort = () => settle(asError(signal.reason));
    const settle = (error?: Error) => {
      timer.stop();
      socket.off('error', onError).off('close', onClose).off(stage, onReady);
      signal.removeEventListener('abort', onAbort);
      if (error) reject(error);
      else resolve();
    };
    const timer = new SilenceTimer(onClose).start(connectTimeoutMs);
    socket.on('error', onError).on('close', onClose).on(stage, onReady);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}
