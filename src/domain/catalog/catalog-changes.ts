import type { CatalogEntry } from './catalog.ts';
import { differences } from '../operators/differences.ts';
import type { JsonObject, JsonValue } from '../json.ts';

/** More are counted and not listed: an entry of the audit log is read by a person. */
const membersMax = 200;

/**
 * What an applied catalog changes, for the audit log: every member that differs, named like `gpt-6-luna pricing.credits_per_request`, with
 * its value before and after. A model that is added or removed stands there with its type, its status and its price.
 */
export function catalogChanges(
  before: readonly CatalogEntry[],
  after: readonly CatalogEntry[],
): { before: JsonObject; after: JsonObject; membersOmitted: number } {
  const [was, is] = [before, after].map(
    (entries) => new Map(entries.map((entry, n) => [entry.model.id, { entry, n }])),
  );
  const ids = [...new Set([...(was?.keys() ?? []), ...(is?.keys() ?? [])])];
  const found = ids.flatMap((id) => {
    const [old, now] = [was?.get(id), is?.get(id)];
    if (!old || !now) return [{ name: id, before: summaryOf(old?.entry), after: summaryOf(now?.entry) }];
    const members = differences(documentOf(old), documentOf(now));
    return members.map(({ path, ...values }) => ({ name: `${id} ${path}`, ...values }));
  });
  const listed = found.slice(0, membersMax);
  const side = (of: 'before' | 'after'): JsonObject =>
    Object.fromEntries(listed.map((member) => [member.name, member[of] ?? null]));
  return { before: side('before'), after: side('after'), membersOmitted: found.length - listed.length };
}

/** The models that another catalog adds, changes and removes, and every member that it changes, as `catalogChanges` names them. */
export function comparedCatalogs(before: readonly CatalogEntry[], after: readonly CatalogEntry[]) {
  const idsOf = (entries: readonly CatalogEntry[]): string[] => entries.map(({ model }) => model.id);
  const [was, is] = [idsOf(before), idsOf(after)];
  const changes = catalogChanges(before, after);
  const members = [...new Set([...Object.keys(changes.before), ...Object.keys(changes.after)])];
  const differing = new Set(members.map((member) => member.split(' ')[0] ?? ''));
  return {
    added: is.filter((id) => !was.includes(id)),
    changed: is.filter((id) => was.includes(id) && differing.has(id)),
    removed: was.filter((id) => !is.includes(id)),
    differences: members.map((member) => ({
      member,
      before: changes.before[member] ?? null,
      after: changes.after[member] ?? null,
    })),
    members_omitted: changes.membersOmitted,
  };
}

function summaryOf(entry: CatalogEntry | undefined): JsonValue {
  if (!entry) return null;
  const { type, status, pricing } = entry.model;
  return plainJson({ type, status, pricing });
}

/** As the database stores it. */
const documentOf = ({ entry, n }: { entry: CatalogEntry; n: number }): JsonObject =>
  plainJson({ ...entry.model, private: entry.private, position: n + 1 });

/** The text makes it plain JSON, without members that are undefined. */
const plainJson = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;
