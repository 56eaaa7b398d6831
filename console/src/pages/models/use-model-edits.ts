import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { differences, type Difference } from '../../../../src/domain/operators/differences.ts';
import { change, read } from '../../api/admin.ts';
import { isConflict } from '../../api/request.ts';
import type { CatalogEntry, VersionedCatalogEntry } from '../../api/admin-types.ts';
import { checkModels } from './margins.ts';
import { mergeEntries } from './merge-entries.ts';

/** What another operator changed between the reading and the writing of a model. */
interface Meanwhile {
  actor: string;
  changes: Difference[];
}

/** The edits of a model, based on the version that was read, with their check and their writing. */
export function useModelEdits(entry: VersionedCatalogEntry, onDone: () => void) {
  const queryClient = useQueryClient();
  const [base, setBase] = useState(entry);
  const [draft, setDraft] = useState(() => entryOf(entry));
  /** What the person has written as JSON while it is none. */
  const [text, setText] = useState<string | null>(null);
  const [meanwhile, setMeanwhile] = useState<Meanwhile | null>(null);
  const check = useMutation({
    mutationFn: () => checkModels([text === null ? draft : JSON.parse(text)]),
  });
  const apply = useMutation({
    mutationFn: () =>
      change('put', '/catalog/{model}', { model: entry.id }, { entry: { ...draft }, version: base.version }),
    onSuccess: ({ changed }) => {
      const message = changed ? `Changed ${draft.display_name}.` : 'Nothing changed.';
      notifications.show({ message, color: 'teal' });
      onDone();
      return queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'playground-key' });
    },
    onError: async (error) => {
      if (!isConflict(error)) return;
      const [theirs, log] = await Promise.all([
        read('/catalog/{model}', { model: entry.id }),
        read('/audit', { subject: entry.id, limit: '1' }),
      ]);
      setMeanwhile({ actor: log.data[0]?.actor ?? 'Somebody', changes: changesOf(entryOf(base), entryOf(theirs)) });
      setDraft(mergeEntries(entryOf(base), draft, entryOf(theirs)) as CatalogEntry);
      setBase(theirs);
      check.reset();
      apply.reset();
    },
  });
  const edit = (next: CatalogEntry): void => {
    setDraft(next);
    setText(null);
    check.reset();
    apply.reset();
  };
  const editText = (next: string): void => {
    const parsed = parse(next);
    if (parsed) return edit(parsed);
    setText(next);
    check.reset();
  };
  return { base, draft, text, meanwhile, check, apply, edit, editText };
}

/** The entry alone, which a person edits. */
export const entryOf = ({ version: _version, state: _state, ...entry }: VersionedCatalogEntry): CatalogEntry => entry;

/** The members in which two entries differ. Lists of the same length are compared item by item. */
export const changesOf = (before: CatalogEntry, after: CatalogEntry): Difference[] =>
  differences(before as never, after as never).flatMap(byItem);

function byItem(difference: Difference): Difference[] {
  const { path, before, after } = difference;
  if (!Array.isArray(before) || !Array.isArray(after) || before.length !== after.length) return [difference];
  return differences(byIndex(before), byIndex(after), `${path}.`).flatMap(byItem);
}

const byIndex = <Item>(list: readonly Item[]): Record<string, Item> => Object.fromEntries(list.entries());

/** The entry that a text is; null if it is no entry at all. The check says what else is wrong with it. */
function parse(text: string): CatalogEntry | null {
  try {
    const value: unknown = JSON.parse(text);
    const isEntry =
      typeof value === 'object' && value !== null && 'pricing' in value && 'parameters' in value && 'private' in value;
    return isEntry ? (value as CatalogEntry) : null;
  } catch {
    return null;
  }
}
