import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { CatalogError } from '../../services/catalog/catalog-error.ts';
import { OperatorError } from '../../services/operator-error.ts';
import { adminPrefix } from '../../http/admin/admin-prefix.ts';
import type { ActionRoute } from '../../admin/define-action.ts';
import { snakeCase } from '../../domain/json.ts';
import { reportType, type Report } from '../../admin/report.ts';

export interface RemoteServer {
  /** The origin of an admin API. */
  url: string;
  token: string;
}

/** Longer than the admin API works on one request. */
const timeoutMs = 180_000;

/**
 * Runs an action over the admin API of a server and returns the same report as on this machine. Throws `OperatorError` for a refusal or a server
 * that cannot be reached, and `CatalogError` for an invalid catalog.
 */
export async function runRemotely(
  { url, token }: RemoteServer,
  { method, path }: ActionRoute,
  input: Readonly<Record<string, unknown>>,
): Promise<Report> {
  const address = new URL(adminPrefix + pathOf(path, input), url);
  const fields = Object.entries(input).filter(([name]) => !path.split('/').includes(`:${name}`));
  const isRead = method === 'GET';
  if (isRead) for (const [name, value] of fields) address.searchParams.set(snakeCase(name), String(value));
  // eslint-disable-next-line no-restricted-globals -- the operator names the server, which may be on this machine
  const answer = await fetch(address, {
    method,
    redirect: 'error',
    headers: {
      authorization: `Bearer ${token}`,
      accept: reportType,
      // A proxy may send a request again whose answer was lost.
      ...(!isRead && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
    },
    body: isRead ? null : JSON.stringify(Object.fromEntries(fields.map(([name, value]) => [snakeCase(name), value]))),
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((cause: unknown) => {
    throw new OperatorError(`The server ${url} cannot be reached.`, { cause });
  });
  const body: unknown = await answer.json().catch(() => null);
  if (answer.ok) return reportOf(body, url);
  throw refusalOf(body, answer.status, url);
}

/** An input that is not given leaves its segment out: `catalog show` without a model lists the models. */
const pathOf = (path: string, input: Readonly<Record<string, unknown>>): string =>
  path.replace(/\/:(\w+)/g, (_, name: string) => {
    const value = input[name];
    return typeof value === 'string' ? `/${encodeURIComponent(value)}` : '';
  });

const SentReport = z.object({ document: z.looseObject({}), text: z.string(), refused: z.boolean() });
const SentProblem = z.object({
  file: z.string().exactOptional(),
  model: z.string(),
  path: z.string(),
  message: z.string(),
});
const SentError = z.object({ error: z.object({ message: z.string(), problems: z.array(SentProblem).optional() }) });

function reportOf(body: unknown, url: string): Report {
  const report = SentReport.safeParse(body);
  if (report.success) return report.data;
  throw new OperatorError(`${url} does not answer as an admin API of Tollgate does.`);
}

function refusalOf(body: unknown, status: number, url: string): Error {
  const sent = SentError.safeParse(body);
  if (!sent.success)
    return new OperatorError(`${url} answers with status ${status}, not as an admin API of Tollgate does.`);
  const { message, problems } = sent.data.error;
  return problems ? new CatalogError(problems) : new OperatorError(message);
}
