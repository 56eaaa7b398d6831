import { actionGroups } from './action-groups.ts';
import type { Action, ActionGroup } from './define-action.ts';

/** All of `actionGroups`. The admin API is made from this table. */
export const actionTable: Readonly<Record<string, Action | ActionGroup>> = Object.fromEntries(
  await Promise.all(Object.entries(actionGroups).map(async ([name, load]) => [name, await load()] as const)),
);

/** Every action with the words of its command, such as `keys create`. */
export const allActions = (): { name: string; action: Action }[] => actionsOf(actionTable, []);

const actionsOf = (entries: typeof actionTable, words: readonly string[]): { name: string; action: Action }[] =>
  Object.entries(entries).flatMap(([word, entry]) =>
    'entries' in entry
      ? actionsOf(entry.entries(), [...words, word])
      : [{ name: [...words, word].join(' '), action: entry }],
  );
