import { expect, it } from '@jest/globals';
import { mergeEntries } from '../../console/src/pages/models/merge-entries.ts';

const base = {
  name: 'a',
  price: { input: 1, output: 2 },
  rules: [{ credits: 4 }, { credits: 6 }],
  tags: ['x'],
  aliases: { old: {} },
};

it.each([
  {
    promise: 'keeps different members of both people',
    mine: { ...base, name: 'mine' },
    theirs: { ...base, price: { input: 1, output: 9 } },
    merged: { ...base, name: 'mine', price: { input: 1, output: 9 } },
  },
  {
    promise: 'keeps different items of a list of the same length',
    mine: { ...base, rules: [{ credits: 5 }, { credits: 6 }] },
    theirs: { ...base, rules: [{ credits: 4 }, { credits: 7 }] },
    merged: { ...base, rules: [{ credits: 5 }, { credits: 7 }] },
  },
  {
    promise: 'keeps what both added and what one removed',
    mine: { ...base, aliases: { mine: {} } },
    theirs: { ...base, aliases: { old: {}, theirs: {} } },
    merged: { ...base, aliases: { theirs: {}, mine: {} } },
  },
  {
    promise: 'takes mine where both changed the same member',
    mine: { ...base, price: { input: 3, output: 2 } },
    theirs: { ...base, price: { input: 8, output: 2 } },
    merged: { ...base, price: { input: 3, output: 2 } },
  },
  {
    promise: 'takes the list of the one who changed its length',
    mine: base,
    theirs: { ...base, tags: ['x', 'y'] },
    merged: { ...base, tags: ['x', 'y'] },
  },
])('the changes of two people to one entry: $promise', ({ mine, theirs, merged }) => {
  expect(mergeEntries(base, mine, theirs)).toEqual(merged);
});
