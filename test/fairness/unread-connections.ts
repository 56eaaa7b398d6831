import { connect, type Socket } from 'node:net';
import type { Gateway } from '../support/gateway.ts';
import { originOf, type LargeAnswer } from './large-answers.ts';
import { PeakMemory } from './peak-memory.ts';

/** Connections that send requests and read no answer. */
export class UnreadConnections {
  readonly #gateway: Gateway;
  readonly #sockets: Socket[] = [];
  readonly #peak: PeakMemory;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
    this.#peak = new PeakMemory(gateway);
  }

  /** Opens so many connections, each of which pipelines the request so many times. */
  open(answer: LargeAnswer, connections: number, pipelined: number): void {
    const { path, method, headers = {}, body } = answer;
    const { hostname, port } = new URL(originOf(this.#gateway, answer));
    const text = body === undefined ? '' : JSON.stringify(body);
    const all = {
      host: 'a',
      ...headers,
      ...(body && { 'content-type': 'application/json', 'content-length': text.length }),
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const request = `${method ?? 'GET'} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`;
    for (let index = 0; index < connections; index += 1) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined).pause();
      socket.write(request.repeat(pipelined));
      this.#sockets.push(socket);
    }
  }

  /** The most memory of the API server since the first connection. */
  get peakBytes(): number {
    return this.#peak.bytes;
  }

  close(): void {
    this.#peak.stop();
    for (const socket of this.#sockets) socket.destroy();
  }
}
