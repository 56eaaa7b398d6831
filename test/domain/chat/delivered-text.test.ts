import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import cl100k from 'gpt-tokenizer/bpeRanks/cl100k_base';
import o200k from 'gpt-tokenizer/bpeRanks/o200k_base';
import type { ChatReply } from '../../../src/domain/chat/chat.ts';
import { ReplyCollector, type ChatDelta } from '../../../src/domain/chat/chat-stream.ts';
import type { ChatHold } from '../../../src/domain/chat/chat-hold.ts';
import { settledUsage } from '../../../src/domain/chat/chat-hold.ts';
import { DeliveredText, deliveredWhole, LeastTokens } from '../../../src/domain/chat/delivered-text.ts';

const least = (...texts: string[]): number => {
  const counter = new LeastTokens();
  for (const text of texts) counter.add(text);
  return counter.count;
};

describe('the fewest tokens of a text', () => {
  it.each(Object.entries({ cl100k, o200k }))('are no more than one for any token of %s', (_name, vocabulary) => {
    const decoder = new TextDecoder();
    const tokens = vocabulary.map((token) =>
      typeof token === 'string' ? token : decoder.decode(Uint8Array.from(token ?? [])),
    );
    expect(tokens.length).toBeGreaterThan(100_000);
    // A hundred of one token, because a text is rounded down once.
    const wrong = tokens.filter((token) => least(token.repeat(100)) > 100);
    expect(wrong).toEqual([]);
  });

  it('do not depend on how a text is divided into pieces', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), fc.nat(2_000), (text, at) => {
        expect(least(text.slice(0, at), text.slice(at))).toBe(least(text));
      }),
    );
  });

  it.each([
    ['blanks', ' '.repeat(10_000)],
    ['lines of dashes', `${'-'.repeat(80)}\n`.repeat(200)],
    ['a run of one letter', 'a'.repeat(10_000)],
    ['a run of one sign of a box', '─'.repeat(10_000)],
  ])('are zero for %s', (_what, text) => {
    expect(least(text)).toBe(0);
  });

  it('are more than a dozen for 150 words', () => {
    const words = 'several people walk through the gate '.repeat(25);
    expect(least(words)).toBeGreaterThan(12);
    expect(least(words)).toBeLessThan(150);
  });
});

describe('what a client receives', () => {
  const arbitraryText = fc.oneof(
    fc.string({ maxLength: 400 }),
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc.constantFrom(
      'word '.repeat(300),
      '文'.repeat(50),
      '文字列'.repeat(300),
      'abcdefghijklmnopqrstuvwxyz'.repeat(50),
    ),
  );
  const tokens = fc.option(fc.oneof(fc.integer({ min: -5, max: 50 }), fc.integer(), fc.double()));
  const replies: fc.Arbitrary<ChatReply> = fc
    .record({
      content: fc.option(arbitraryText),
      refusal: fc.option(arbitraryText),
      reasoning: arbitraryText,
      toolCalls: fc.array(fc.record({ id: fc.string(), name: arbitraryText, arguments: arbitraryText }), {
        maxLength: 3,
      }),
      finishReason: fc.constantFrom('stop', 'length', 'tool_calls'),
      usage: fc.option(fc.record({ inputTokens: tokens, outputTokens: tokens })),
    })
    .chain((reply) =>
      fc.boolean().map((isInterim) => ({ ...reply, ...(isInterim && { hasInterimCounts: true as const }) })),
    );
  const holds = fc
    .integer({ min: 1, max: 100 })
    .map((outputTokens): ChatHold => ({ inputTokens: 50, outputTokens, likelyInputTokens: 20, apartTokens: 8 }));

  it('never has more tokens than its settlement, whatever its provider counts', () => {
    fc.assert(
      fc.property(replies, holds, (reply, hold) => {
        const { output } = settledUsage(reply, hold);
        expect(deliveredWhole(reply).leastTokens(hold.outputTokens)).toBeLessThanOrEqual(output);
      }),
      { numRuns: 1_000 },
    );
  });

  it('counts thoughts that are shown, refusals and the names and arguments of tools, and no more than the answer may have', () => {
    const words = 'abcdefghij'.repeat(48);
    const delivered = new DeliveredText();
    delivered.add([
      { kind: 'reasoning', text: words },
      { kind: 'refusal', text: words },
      { kind: 'text', text: words },
      { kind: 'tool_call', index: 0, id: 'call', name: words, arguments: words },
      { kind: 'tool_call', index: 0, arguments: words },
    ]);
    expect(delivered.leastTokens(1_000)).toBe(60);
    expect(delivered.leastTokens(20)).toBe(20);
  });

  it('counts nothing of what comes after the client has left, and believes the counts at its end', () => {
    const delivered = new DeliveredText();
    delivered.add([text]);
    delivered.add([text, text], false);
    expect(delivered.leastTokens(1_000)).toBe(10);
    delivered.add([finish, counts(4)], false);
    expect(delivered.leastTokens(1_000)).toBe(4);
  });

  const text = { kind: 'text', text: 'abcdefghij'.repeat(48) } as const;
  const finish = { kind: 'finish', reason: 'stop' } as const;
  const counts = (outputTokens: number | null) => ({ kind: 'usage', usage: { inputTokens: 1, outputTokens } }) as const;
  it.each<[string, ChatDelta[], number]>([
    ['of the whole answer are believed', [text, finish, counts(4)], 4],
    ['that come before the reason of the end are believed', [text, counts(4), finish], 4],
    ['above the fewest tokens change nothing', [text, finish, counts(400)], 10],
    ['below zero count as zero', [text, finish, counts(-4)], 0],
    ['of the beginning are not believed', [counts(4), text], 10],
    ['of the beginning of an answer that ends are not believed', [counts(4), text, finish], 10],
    [
      'of the beginning beside counts of the prompt at the end are not believed',
      [counts(4), text, finish, counts(null)],
      10,
    ],
    ['of an answer that broke off are not believed', [text, counts(4)], 10],
    ['of an answer that was cut are not believed', [text, counts(4), { ...finish, isCut: true }], 10],
    ['of zero tokens are not believed', [text, finish, counts(0)], 10],
  ])('counts of a provider %s', (_which, pieces, expected) => {
    const delivered = new DeliveredText();
    delivered.add(pieces);
    expect(delivered.leastTokens(1_000)).toBe(expected);
    const collector = new ReplyCollector();
    collector.add(pieces);
    const hold = { inputTokens: 50, outputTokens: 1_000, likelyInputTokens: 20, apartTokens: 8 };
    expect(settledUsage(collector.reply(), hold).output).toBeGreaterThanOrEqual(expected);
  });
});
