import { findById, findByProviderJob, findLedgerEntry, type Found } from '../../db/search/find-by-id.ts';
import { findByName, findBySecret } from '../../db/search/find-by-name.ts';
import { findAnsweredRequest } from '../../db/detail-rows.ts';
import { isId, timeOfId } from '../../platform/crypto/ids.ts';
import type { Deps } from '../../deps.ts';
import { requestIdOf } from '../../domain/requests/answer-id.ts';

/** Something that a search found, and the page of the console that shows it. */
export interface SearchHit extends Pick<Found, 'type' | 'id' | 'name'> {
  /** The address of the page, without the server's own. */
  url: string;
}

/** The most that one search returns. */
const hitsMax = 20;

/**
 * Finds what an operator means by a text: an id or the beginning of one, the id of an answer or of a provider's job, the first or the last
 * characters of a key, or a part of a name. Best matches first. Besides what has a whole id there is no other hit.
 */
export async function findAnything({ db }: Pick<Deps, 'db'>, query: string): Promise<SearchHit[]> {
  // Lists show the beginning of long ids.
  const text = query.replace(/(?:…|\.\.\.)$/, '');
  if (text === '') return [];
  const byId = await findAnyId(db, text);
  const others =
    byId.length > 0 && wholeId.test(text)
      ? []
      : await Promise.all([findKeys(db, text), findByProviderJob(db, text), findByName(db, text)]);
  const hits = [...byId, ...others.flat()].map(hitOf);
  const seen = new Map(hits.map((hit) => [`${hit.type} ${hit.id}`, hit] as const));
  return [...seen.values()].slice(0, hitsMax);
}

const wholeId = /_(?:[0-7][0-9a-z]{25}|\d+)$/;
/** An id with so many of its characters that they tell a few minutes from all others. */
const beginningOfId = /^[a-z]+_[0-9a-z]{6,26}$/;

async function findAnyId(db: Deps['db'], text: string): Promise<Found[]> {
  const entry = /^entry_(\d{1,15})$/.exec(text)?.[1];
  if (entry !== undefined) return [await findLedgerEntry(db, entry)].filter((found) => found !== null);
  const id = requestIdOf(text);
  const found = (beginningOfId.test(id) && (await findById(db, id))) || [];
  if (!isId('req', id) || found[0]?.type === 'chat') return found;
  // It may have been refused before any credits were held, and the row of the task of a refused create does not say why.
  const answered = await findAnsweredRequest(db, id, timeOfId(id));
  if (answered === null || (answered.errorCode === null && found.length > 0)) return found;
  return [{ type: 'request', id, name: answered.errorCode ?? answered.route, shownBy: id }];
}

/** The characters of a key as lists show them: the first eight, the last four, or both around an ellipsis. A whole key has both too. */
async function findKeys(db: Deps['db'], text: string): Promise<Found[]> {
  const [, first, last] = /^([!-~]{1,8})[!-~]*(?:…|\.\.\.)([!-~]{4})$/.exec(text) ?? [];
  if (first !== undefined && last !== undefined) return findBySecret(db, { first, last });
  if (!/^[!-~]{4,}$/.test(text)) return [];
  const parts = { first: text.slice(0, 8), last: text.slice(-4) };
  // So many characters are a whole key.
  if (text.length > 16) return findBySecret(db, parts);
  const found = await Promise.all([findBySecret(db, { first: parts.first }), findBySecret(db, { last: parts.last })]);
  return found.flat();
}

const consolePageOf: Readonly<Record<Found['type'], (shownBy: string) => string>> = {
  project: (id) => `projects/${id}`,
  key: (id) => `keys/${id}`,
  model: (id) => `models/${id}`,
  channel: (id) => `channels/${id}`,
  plan: (name) => `plans/${encodeURIComponent(name)}`,
  task: (id) => `tasks/${id}`,
  chat: (id) => `requests/${id}`,
  delivery: (taskId) => `deliveries?task=${taskId}`,
  file: pageOfOwner,
  ledger_entry: pageOfOwner,
  job_run: () => 'jobs',
  admin_token: () => 'access',
  operator: () => 'access',
  silence: () => 'overview',
  request: (id) => `requests/${id}`,
};

/** A file and an entry belong to a task, a chat or, without one, to the project. */
function pageOfOwner(id: string): string {
  const folder = id.startsWith('task_') ? 'tasks' : id.startsWith('req_') ? 'requests' : 'projects';
  return `${folder}/${id}`;
}

const hitOf = ({ type, id, name, shownBy }: Found): SearchHit => ({
  type,
  id,
  name,
  url: `/console/${consolePageOf[type](shownBy)}`,
});
