import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { writeJson } from '../../../src/http/response/write-json.ts';

it('writes any object as JSON.stringify does', async () => {
  const value = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()), fc.constant(undefined)));
  await fc.assert(fc.asyncProperty(value, async (input) => expect(await writeJson(input)).toBe(JSON.stringify(input))));
  const odd = {
    at: new Date(0),
    list: [undefined, () => 1, new Date(0), Symbol('a')],
    no: () => 1,
    empty: [],
    none: undefined,
  };
  expect(await writeJson(odd)).toBe(JSON.stringify(odd));
});

it('lets other work of the event loop run while it writes megabytes', async () => {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const data = Array.from({ length: 1_000 }, (_, n) => ({ n, text: 'x'.repeat(8_000) }));
  const text = await writeJson({ object: 'list', data });
  isOver = true;
  expect(text).toBe(JSON.stringify({ object: 'list', data }));
  expect(turns).toBeGreaterThan(text.length / 100_000);
});

it('throws what cannot be written', async () => {
  await expect(writeJson({ list: [1, 1n] })).rejects.toThrow('BigInt');
});
