import { eventually } from '../support/eventually.ts';

type Document = Record<string, unknown>;

/** Calls the admin API with a token, to compare what it says with what the pages did. */
export interface AdminClient {
  read(path: string): Promise<Document>;
  change(method: string, path: string, body?: object): Promise<Document>;
}

/** Its calls throw for every answer that is an error, but for a read that a busy machine refuses, which it repeats as the pages do. */
export function createAdminClient(baseUrl: string, token: string): AdminClient {
  const send = async (method: string, path: string, body?: object): Promise<Document> => {
    const ask = () =>
      fetch(`${baseUrl}/api/admin/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(60_000),
      });
    const mayRepeat = ({ status }: Response): boolean => method === 'GET' && status === 503;
    const answer = await eventually(async () => {
      const one = await ask();
      return !mayRepeat(one) && one;
    });
    const document = (await answer.json()) as Document;
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status} ${JSON.stringify(document)}`);
    return document;
  };
  return { read: (path) => send('GET', path), change: (method, path, body = {}) => send(method, path, body) };
}
