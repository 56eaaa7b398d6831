import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { chooseOwnPort } from './own-port.ts';

/** What a busy provider answers to a submit. */
export interface BusyAnswer {
  status: number;
  headers?: Record<string, string>;
  body: object;
}

/** A submit that reached this provider: a POST. */
export interface SeenSubmit {
  path: string;
  body: string;
  refused: boolean;
  /** The header with the credential. */
  authorization: string;
}

/** A poll or another request of a job that reached this provider. */
export interface SeenRead {
  path: string;
  authorization: string;
}

type Refusable = Pick<SeenSubmit, 'path' | 'body' | 'authorization'>;

type RefusesWhen = (submit: Refusable) => boolean | BusyAnswer;

/** A proxy on loopback in front of the sandbox that can refuse submits, as a provider does that is too busy. */
export interface BusyUpstream {
  url: string;
  submits: SeenSubmit[];
  /** Every other request. */
  reads: SeenRead[];
  /** Refuses each later submit for which `when` is true, or with the answer that it returns. Null: none. */
  refuse(answer: BusyAnswer | null, when?: RefusesWhen): void;
  /** Ends every connection, and accepts none until `comeBack`. */
  leave(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

export async function startBusyUpstream(target: string): Promise<BusyUpstream> {
  const submits: SeenSubmit[] = [];
  const reads: SeenRead[] = [];
  let refusal: { answer: BusyAnswer; when: RefusesWhen } | null = null;
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse, bytes: Buffer): void => {
    const { method = 'GET', url: path = '/', headers } = incoming;
    const { authorization = '' } = headers;
    const submit = { path, body: bytes.toString('utf8'), authorization };
    const refuses = method === 'POST' && (refusal?.when(submit) ?? false);
    const answer = refuses === true ? refusal?.answer : refuses || undefined;
    if (method === 'POST') submits.push({ ...submit, refused: answer !== undefined });
    else reads.push({ path, authorization });
    if (answer) {
      const { status, headers: own, body } = answer;
      outgoing.writeHead(status, { 'content-type': 'application/json', ...own }).end(JSON.stringify(body));
      return;
    }
    const onward = request(`${target}${path}`, { method, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    onward.end(bytes);
  };
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => handle(incoming, outgoing, Buffer.concat(chunks)));
  });
  // Port 0 would be one of the system's, which a connection may take while this server is away.
  const port = await chooseOwnPort();
  const listen = (): Promise<void> =>
    new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  await listen();
  return {
    url: `http://127.0.0.1:${port}`,
    submits,
    reads,
    refuse(answer, when = () => true) {
      refusal = answer && { answer, when };
    },
    leave: () => leave(server),
    comeBack: listen,
    close: () => leave(server),
  };
}

const leave = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
