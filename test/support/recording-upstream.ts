import { createServer, request } from 'node:http';

/** One received call. */
export interface RecordedCall {
  method: string;
  path: string;
  body: string;
}

export interface RecordingUpstream {
  /** The URL of this proxy, which replaces `target`. */
  url: string;
  calls: RecordedCall[];
  close(): Promise<void>;
}

/** A proxy on loopback that records each call and forwards it to `target`. The sandbox itself records no bodies. */
export async function startRecordingUpstream(target: string): Promise<RecordingUpstream> {
  const calls: RecordedCall[] = [];
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      const { method = 'GET', url: path = '/', headers } = incoming;
      calls.push({ method, path, body: body.toString('utf8') });
      const onward = request(`${target}${path}`, { method, headers, timeout: 120_000 }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      onward.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
