import { afterEach, describe, expect, it } from '@jest/globals';
import { createTokenCounter, type TokenCounter } from '../../src/platform/tokens/token-counter.ts';

let counter: TokenCounter;
afterEach(() => counter.close());

/** Longer than the first start of a thread takes on a busy machine. */
const patient = { answerMs: 60_000 };

describe('the token counter', () => {
  it("counts as OpenAI's models do, for prose, code and other scripts", async () => {
    counter = createTokenCounter(patient);
    const texts = ['The gate is open.', 'const gate = (toll: number) => toll * 2;', '大门打开了', '', '<|endoftext|>'];
    const tokens = await counter.count('o200k', texts);
    expect(tokens).toEqual([5, 15, 4, 0, 7]);
  });

  it('counts a long text in little time and to within one per cent, even one that is a single word', async () => {
    counter = createTokenCounter(patient);
    const sentence = 'The gate is open and the toll was paid at a fair rate. ';
    const [one = 0] = (await counter.count('o200k', [sentence])) ?? [];
    const [many = 0, word = 0] = (await counter.count('o200k', [sentence.repeat(5_000), 'a'.repeat(100_000)])) ?? [];
    expect(Math.abs(many / ((one - 1) * 5_000) - 1)).toBeLessThan(0.01);
    expect(word).toBeGreaterThan(10_000);
  });

  it('counts again after its thread has ended for lack of work', async () => {
    counter = createTokenCounter({ ...patient, idleMs: 0 });
    expect(await counter.count('o200k', ['open'])).toEqual([1]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await counter.count('o200k', ['open', 'open gate'])).toEqual([1, 2]);
  });

  it('gives up a count that takes too long, and all counts when it is closed', async () => {
    counter = createTokenCounter({ answerMs: 0 });
    expect(await counter.count('o200k', ['late'])).toBeNull();
    const closing = createTokenCounter(patient);
    const counting = closing.count('o200k', ['closed']);
    await closing.close();
    expect(await counting).toBeNull();
  });
});
