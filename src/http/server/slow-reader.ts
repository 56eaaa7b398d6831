import type { ServerResponse } from 'node:http';

/** The slowest reader of a file or a picture. A reader below it would hold its slot and its buffers for hours. */
const BYTES_PER_SECOND_MIN = 1_000;
/**
 * Long, because the kernel takes bytes in lumps: it reports progress only when a third of its send buffer is free again. A video
 * player that pauses is cut off too, and continues with a range.
 */
const WINDOW_SECONDS = 20;

/**
 * Closes the connection if the client reads the answer too slowly. A wait for our own source of bytes is not the reader's fault and
 * does not count.
 */
export function cutOffSlowReader(res: ServerResponse, windowSeconds = WINDOW_SECONDS): void {
  const { socket } = res;
  if (!socket || res.closed) return;
  const isTooSlow = watchPace(socket, windowSeconds);
  const windows = setInterval(() => {
    if (isTooSlow()) res.destroy();
  }, windowSeconds * 1_000);
  res.once('close', () => clearInterval(windows));
}

/** The bytes of a connection: all that were written, and those of them that wait for the reader. */
interface Written {
  readonly bytesWritten: number;
  readonly writableLength: number;
}

/** Answers, called once at the end of each window, whether the reader took too little in it while more was waiting for it. */
export function watchPace(socket: Written, windowSeconds: number): () => boolean {
  const taken = (): number => socket.bytesWritten - socket.writableLength;
  let before = taken();
  return () => {
    const took = taken() - before;
    before += took;
    return socket.writableLength > 0 && took < BYTES_PER_SECOND_MIN * windowSeconds;
  };
}
