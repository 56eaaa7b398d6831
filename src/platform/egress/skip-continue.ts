import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

/**
 * Removes each `100 Continue` before an answer from what is read of the socket, and returns the socket. A server may send any number of
 * informational answers before the final one (RFC 9110 §15.2). undici skips 102 and 103, but takes 100 for a broken answer, after which
 * a delivered callback would be sent again, and a bought job would count as unknown.
 *
 * For connections that carry one exchange at a time. An answer begins after the last write, so nothing inside a body is removed.
 */
export function skipContinue<Wrapped extends Socket>(socket: Wrapped): Wrapped {
  const read: (size?: number) => Buffer | null = socket.read.bind(socket);
  const write: Socket['write'] = socket.write.bind(socket);
  let isBeginning = true;
  let skipped = 0;
  let held: Buffer = NOTHING;

  socket.write = ((...args: Parameters<Socket['write']>) => {
    isBeginning = true;
    skipped = 0;
    return write(...args);
  }) as Socket['write'];

  socket.read = (size) => {
    for (;;) {
      const chunk = read(size);
      if (!isBeginning || chunk === null) return chunk;
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      for (let end = endOfContinue(held); end > 0; end = endOfContinue(held)) {
        held = held.subarray(end);
        skipped += end;
      }
      if (mayBecomeContinue(held) && skipped + held.length <= SKIPPED_BYTES_MAX) continue;
      isBeginning = false;
      const rest = held;
      held = NOTHING;
      return rest;
    }
  };
  return socket;
}

/** Opens connections as undici itself does, for agents with `pipelining` 0 or 1. */
export function connectorSkippingContinue(options: buildConnector.BuildOptions = {}): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (...opened) => {
      if (opened[0] === null) callback(null, skipContinue(opened[1]));
      else callback(...opened);
    });
}

const NOTHING = Buffer.alloc(0);

/** A receiver that sends more before its answer is broken. */
const SKIPPED_BYTES_MAX = 64 * 1_024;

const statusLines = ['HTTP/1.1 100', 'HTTP/1.0 100'];

/** The length of a complete `100 Continue` at the beginning, or 0. */
function endOfContinue(bytes: Buffer): number {
  if (!statusLines.includes(bytes.toString('latin1', 0, 12))) return 0;
  const end = bytes.indexOf('\r\n\r\n');
  return end < 0 ? 0 : end + 4;
}

/** Whether `100 Continue` has begun and has not ended. Nothing at all is a beginning too. */
function mayBecomeContinue(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, 12);
  return statusLines.some((line) => line.startsWith(start));
}
