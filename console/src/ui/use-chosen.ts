import { useState } from 'react';

/**
 * The item of a list that a page works with: the wanted one, else the usual one. It stays until another one is wanted, also when the list
 * is read again and another item would be the usual one, or when the list lacks it by then. Its figures are those of the newest list.
 */
export function useChosen<Item>(
  items: readonly Item[] | undefined,
  { idOf, wanted, usual }: { idOf: (item: Item) => string; wanted: string | undefined; usual: Usual<Item> },
): Item | undefined {
  const [kept, setKept] = useState<Item>();
  const listed = (id: string | undefined): Item | undefined => items?.find((item) => idOf(item) === id);
  const chosen = listed(wanted) ?? (kept && (listed(idOf(kept)) ?? kept)) ?? (items && usual(items));
  if (chosen !== kept) setKept(chosen);
  return chosen;
}

type Usual<Item> = (items: readonly Item[]) => Item | undefined;
