import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { differences } from '../../../src/domain/operators/differences.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { read, readVersioned, type Answer, type Inputs } from '../api/admin.ts';
import { isConflict } from '../api/request.ts';
import type { AuditEntry } from '../api/admin-types.ts';
import { ChangedMeanwhile } from './changed-meanwhile.tsx';
import { ErrorAlert } from './page.tsx';

/** The things that several operators may change at the same time, beside the models. */
type ThingPath = '/channels/{channel}' | '/projects/{id}' | '/keys/{id}' | '/plans/{name}';

interface ThingOf<Path extends ThingPath> {
  path: Path;
  inputs: Inputs<'get', Path>;
  /** Its id in the audit log. Null: it does not exist yet. */
  subject: string | null;
}

/** Entries of the audit log that are looked at for what happened while a form was open. */
const entriesMax = 20;

/**
 * The fields of a form that changes a thing, and its saving. The thing is read when the form opens, and a change is based on that version. If
 * another operator has changed the thing meanwhile, nothing is saved: `notice` shows that change, the fields that the operator did not type into show it too, and the next
 * saving is based on it. `shown` is what the page knows of the thing already.
 */
export function useEdits<Path extends ThingPath, Shown, Fields extends object>(
  { path, inputs, subject }: ThingOf<Path>,
  shown: Shown,
  fieldsOf: (of: Shown | Answer<'get', Path>) => Fields,
) {
  const reading = useQuery({
    queryKey: ['edits', path, inputs],
    queryFn: () => readVersioned(path, inputs),
    enabled: subject !== null,
    // What the form is based on changes only when the person is told.
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const [edits, setEdits] = useState<Partial<Fields>>({});
  const [meanwhile, setMeanwhile] = useState<AuditEntry[]>([]);
  const before = fieldsOf(reading.data?.resource ?? shown);
  const fields = { ...before, ...edits };
  const changes = Object.fromEntries(
    Object.entries(edits).filter(([name, value]) => !isSame(value, before[name as keyof Fields])),
  ) as Partial<Fields>;

  const save = async <T,>(write: (version: string | undefined) => Promise<T>): Promise<T> => {
    try {
      return await write(reading.data?.version);
    } catch (error) {
      if (subject === null || !isConflict(error)) throw error;
      const log = await read('/audit', { subject, limit: entriesMax });
      const changed = log.data.filter(
        ({ action, before: was }) => was !== null && path.startsWith(`/${action.split('.')[0]}/`),
      );
      const since = changed.filter(({ at }) => at >= (reading.data?.at ?? 0));
      setMeanwhile(since.length > 0 ? since : changed.slice(0, 1));
      await reading.refetch({ throwOnError: true });
      throw error;
    }
  };
  const notice: ReactNode =
    reading.error !== null ? (
      <ErrorAlert error={reading.error} />
    ) : (
      meanwhile.length > 0 && (
        <ChangedMeanwhile
          actors={meanwhile.map(({ actor }) => actor)}
          changes={differences(
            // The newest entry is the first: what was before the oldest, and what is after the newest.
            Object.assign({}, ...meanwhile.map((entry) => entry.before)) as JsonObject,
            Object.assign({}, ...meanwhile.toReversed().map((entry) => entry.after)) as JsonObject,
          )}
        />
      )
    );
  return {
    fields,
    changes,
    edit: (next: Partial<Fields>): void => setEdits((others) => ({ ...others, ...next })),
    /** Calls `write` with the version that the change is based on. */
    save,
    notice,
    /** The version is known. */
    isRead: subject === null || reading.isSuccess,
    /** Nothing differs from the thing, or the version is not known yet. */
    isUnchanged: Object.keys(changes).length === 0 || (subject !== null && !reading.isSuccess),
  };
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
