import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { Gateway } from '../support/gateway.ts';
import { originOf, type LargeAnswer } from './large-answers.ts';

/** Connections that send requests and read no answer. */
export class UnreadConnections {
  readonly #gateway: Gateway;
  readonly #sockets: Socket[] = [];
  readonly #watch: NodeJS.Timeout;
  #peakBytes = 0;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
    this.#watch = setInterval(() => this.#measure(), 100);
    this.#measure();
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
    return this.#peakBytes;
  }

  close(): void {
    clearInterval(this.#watch);
    for (const socket of this.#sockets) socket.destroy();
  }

  #measure(): void {
    const status = readFileSync(`/proc/${this.#gateway.pids()['api-1']}/status`, 'utf8');
    this.#peakBytes = Math.max(this.#peakBytes, 1_024 * Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1]));
  }
}
