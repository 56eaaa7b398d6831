import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Requests that wait behind another one of their connection. */
const QUEUED_PER_CONNECTION_MAX = 100;
/** The same in the whole process. Each takes about 3 kB, and several times as much until the heap is collected. */
const QUEUED_MAX = 4_000;
const LISTENERS_MAX = 30;

export interface InOrder {
  serve: (request: IncomingMessage, response: ServerResponse) => void;
  /** The answer that a connection is sending or waits for. */
  answerOf: (socket: Duplex) => ServerResponse | undefined;
}

/**
 * Handles the requests of one connection one after another, as RFC 9112 §9.3.2 allows. Node hands all pipelined requests over as they
 * arrive. Their answers would be made and kept until those before them are read, without a socket whose reader can be watched, and they
 * would never close if the connection does. A connection that queues too many requests is closed.
 */
export function createInOrder(begin: (request: IncomingMessage, response: ServerResponse) => void): InOrder {
  const lines = new WeakMap<Duplex, ServerResponse[]>();
  let queued = 0;

  const next = (socket: Duplex, line: ServerResponse[]): void => {
    line.shift();
    // It has ended, or ends after the answer that said so.
    if (!socket.writable) queued -= line.splice(0).length;
    const [first] = line;
    if (!first) return;
    queued -= 1;
    start(socket, line, first);
  };
  const start = (socket: Duplex, line: ServerResponse[], response: ServerResponse): void => {
    // Whatever holds something for a request listens for its end.
    response.setMaxListeners(LISTENERS_MAX).once('close', () => next(socket, line));
    begin(response.req, response);
  };

  return {
    serve({ socket }, response) {
      const line = lines.get(socket) ?? [];
      lines.set(socket, line);
      line.push(response);
      if (line.length === 1) return start(socket, line, response);
      queued += 1;
      if (line.length > QUEUED_PER_CONNECTION_MAX || queued > QUEUED_MAX) socket.destroy();
    },
    answerOf: (socket) => lines.get(socket)?.[0],
  };
}
