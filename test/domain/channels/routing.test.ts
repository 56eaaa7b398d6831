import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { unitHash } from '../../../src/platform/crypto/hash.ts';
import {
  drawOrder,
  firstToRecover,
  listServing,
  soonIfUnreachable,
  unavailableWhileBusy,
  type Candidate,
  type Wanted,
} from '../../../src/domain/channels/routing.ts';

const nowMs = 1_000_000;
const wanted: Wanted = {
  modelId: 'model-a',
  groups: ['default', 'gold'],
  families: ['fal'],
  attemptedIds: new Set(),
  nowMs,
};
const candidate = (id: string, over: Partial<Candidate> = {}): Candidate => ({
  id,
  name: id,
  adapter: 'fal',
  groups: ['default'],
  priority: 1,
  weight: 1,
  enabled: true,
  unavailableUntil: {},
  ...over,
});

/** mulberry32. The draws are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const anyCandidates = fc
  .array(
    fc.record({
      adapter: fc.constantFrom('fal', 'fal', 'other'),
      groups: fc.subarray(['default', 'gold', 'private']),
      priority: fc.nat({ max: 3 }),
      weight: fc.nat({ max: 4 }),
      enabled: fc.boolean(),
      unavailableUntil: fc.constantFrom<Record<string, number>>(
        {},
        { 'model-a': nowMs + 500 },
        { '*': nowMs + 900 },
        { 'model-b': nowMs + 500 },
        { 'model-a': nowMs - 1, '*': nowMs },
      ),
    }),
    { maxLength: 12 },
  )
  .map((rows) => rows.map((row, index) => candidate(`channel-${index}`, row)));
const anyRandom = fc.integer().map(seeded);
const anyAttemptedIds = fc
  .array(fc.nat({ max: 11 }), { maxLength: 4 })
  .map((indices) => new Set(indices.map((index) => `channel-${index}`)));

/** The rule, written independently of the code under test. */
const isAvailable = ({ unavailableUntil }: Candidate) =>
  (unavailableUntil['model-a'] ?? 0) <= nowMs && (unavailableUntil['*'] ?? 0) <= nowMs;
const mayServe = (channel: Candidate, attemptedIds: ReadonlySet<string>) =>
  channel.enabled &&
  channel.weight > 0 &&
  channel.adapter === 'fal' &&
  channel.groups.some((group) => group !== 'private') &&
  !attemptedIds.has(channel.id);

describe('firstToRecover', () => {
  it('returns the channel whose breaker recovers first, of any weight, among those that do not cool down', () => {
    fc.assert(
      fc.property(anyCandidates, anyAttemptedIds, (channels, attemptedIds) => {
        const tripped = channels.filter(
          (one) => mayServe(one, attemptedIds) && (one.unavailableUntil['*'] ?? 0) <= nowMs,
        );
        const ends = tripped.map(({ unavailableUntil }) => unavailableUntil['model-a'] ?? 0);
        const first = firstToRecover(channels, { ...wanted, attemptedIds });
        expect(first === null).toBe(tripped.length === 0);
        if (first) expect(first.unavailableUntil['model-a'] ?? 0).toBe(Math.min(...ends));
      }),
    );
  });
});

describe('drawOrder', () => {
  it('returns each eligible channel once: enabled, weighted, of a group and a family of the model, available, not tried', () => {
    fc.assert(
      fc.property(anyCandidates, anyAttemptedIds, anyRandom, (channels, attemptedIds, random) => {
        const { order } = drawOrder(channels, { ...wanted, attemptedIds }, random);
        const eligible = channels.filter((channel) => mayServe(channel, attemptedIds) && isAvailable(channel));
        expect(order.map(({ id }) => id).sort()).toEqual(eligible.map(({ id }) => id).sort());
      }),
    );
  });

  it('puts channels with a lower priority number first', () => {
    fc.assert(
      fc.property(anyCandidates, anyRandom, (channels, random) => {
        const priorities = drawOrder(channels, wanted, random).order.map(({ priority }) => priority);
        expect(priorities).toEqual([...priorities].sort((a, b) => a - b));
      }),
    );
  });

  it('returns when the first unavailable channel becomes available, or null if all are available', () => {
    fc.assert(
      fc.property(anyCandidates, anyAttemptedIds, anyRandom, (channels, attemptedIds, random) => {
        const unavailable = channels.filter((channel) => mayServe(channel, attemptedIds) && !isAvailable(channel));
        const ends = unavailable.map(({ unavailableUntil }) =>
          Math.max(unavailableUntil['model-a'] ?? 0, unavailableUntil['*'] ?? 0),
        );
        expect(drawOrder(channels, { ...wanted, attemptedIds }, random).availableAtMs).toBe(
          ends.length === 0 ? null : Math.min(...ends),
        );
      }),
    );
  });

  it('does not change its arguments', () => {
    fc.assert(
      fc.property(anyCandidates, anyRandom, (channels, random) => {
        const before = structuredClone(channels);
        drawOrder(channels, wanted, random);
        expect(channels).toEqual(before);
      }),
    );
  });

  it('draws the first channel by weight: 10,000 draws match the weights within 3 percentage points', () => {
    const weights = { a: 5, b: 3, c: 2, never: 0 };
    const channels = Object.entries(weights).map(([id, weight]) => candidate(id, { weight }));
    const random = seeded(20_260_101);
    const firsts: Record<string, number> = { a: 0, b: 0, c: 0, never: 0 };
    for (let draws = 0; draws < 10_000; draws++) firsts[drawOrder(channels, wanted, random).order[0]!.id]! += 1;
    expect(firsts['never']).toBe(0);
    for (const [id, weight] of Object.entries(weights))
      expect(Math.abs(firsts[id]! / 10_000 - weight / 10)).toBeLessThan(0.03);
  });

  it('draws the next channel by the remaining weights', () => {
    const channels = [candidate('a', { weight: 2 }), candidate('b', { weight: 1 }), candidate('c', { weight: 1 })];
    const random = seeded(42);
    let [afterA, thenB] = [0, 0];
    for (let draws = 0; draws < 10_000; draws++) {
      const [first, second] = drawOrder(channels, wanted, random).order;
      if (first!.id !== 'a') continue;
      afterA += 1;
      if (second!.id === 'b') thenB += 1;
    }
    expect(Math.abs(thenB / afterA - 0.5)).toBeLessThan(0.03);
  });

  it('accepts random numbers at both ends of their range', () => {
    const channels = [candidate('a', { weight: 3 }), candidate('b', { weight: 0 }), candidate('c', { weight: 1 })];
    expect(
      drawOrder(channels, wanted, () => 1 - Number.EPSILON / 2)
        .order.map(({ id }) => id)
        .sort(),
    ).toEqual(['a', 'c']);
    expect(drawOrder(channels, wanted, () => 0).order.map(({ id }) => id)).toEqual(['a', 'c']);
  });

  describe('with the numbers of a conversation', () => {
    const numbersOf = (conversation: string) => (channel: Candidate) => unitHash(`${conversation} ${channel.id}`);
    const firstOf = (channels: readonly Candidate[], conversation: string) =>
      drawOrder(channels, wanted, numbersOf(conversation)).order[0]?.id;
    const conversations = Array.from({ length: 1_000 }, (_, index) => `conversation ${index}`);

    it('draws the same order in every turn, however the channels are listed', () => {
      fc.assert(
        fc.property(anyCandidates, fc.string(), (channels, conversation) => {
          const { order } = drawOrder(channels, wanted, numbersOf(conversation));
          expect(drawOrder(channels.toReversed(), wanted, numbersOf(conversation)).order).toEqual(order);
        }),
      );
    });

    it.each([[[1, 1]], [[5, 3, 2]], [[1, 9]], [[1, 1, 1, 1]]])(
      'gives channels of the weights %j their share of 1,000 conversations within five percentage points',
      (weights) => {
        const channels = weights.map((weight, index) => candidate(`channel-${index}`, { weight }));
        const sum = weights.reduce((left, right) => left + right);
        for (const { id, weight } of channels) {
          const own = conversations.filter((conversation) => firstOf(channels, conversation) === id).length;
          expect(Math.abs(own / 1_000 - weight / sum)).toBeLessThan(0.05);
        }
      },
    );

    it('moves only the conversations of the channel that becomes unavailable, and back again when it recovers', () => {
      const channels = ['a', 'b', 'c'].map((id) => candidate(id));
      const withoutB = channels.map((channel) =>
        channel.id === 'b' ? { ...channel, unavailableUntil: { '*': nowMs + 1 } } : channel,
      );
      for (const conversation of conversations) {
        const { order } = drawOrder(channels, wanted, numbersOf(conversation));
        const left = order.filter(({ id }) => id !== 'b').map(({ id }) => id);
        expect(drawOrder(withoutB, wanted, numbersOf(conversation)).order.map(({ id }) => id)).toEqual(left);
      }
    });
  });

  it('returns an empty order if no channel serves the model', () => {
    expect(drawOrder([], wanted, () => 0.5)).toEqual({ order: [], availableAtMs: null });
    expect(drawOrder([candidate('a')], { ...wanted, families: [] }, () => 0.5)).toEqual({
      order: [],
      availableAtMs: null,
    });
  });
});

describe('listServing', () => {
  it('ignores health, so that channels which cool down are included', () => {
    fc.assert(
      fc.property(anyCandidates, anyAttemptedIds, (channels, attemptedIds) => {
        expect(listServing(channels, { ...wanted, attemptedIds })).toEqual(
          channels.filter((channel) => mayServe(channel, attemptedIds)),
        );
      }),
    );
  });
});

describe('unavailableWhileBusy', () => {
  const busyUntil = new Map([['a', nowMs + 700]]);
  const drawn = (channels: Candidate[]) => drawOrder(unavailableWhileBusy(channels, busyUntil), wanted, () => 0);

  it('leaves a channel that was too busy for the task out of the draw until its time', () => {
    const { order, availableAtMs } = drawn([candidate('a'), candidate('b')]);
    expect(order.map(({ id }) => id)).toEqual(['b']);
    expect(availableAtMs).toBe(nowMs + 700);
  });

  it('does not shorten a cool-down of the channel', () => {
    expect(drawn([candidate('a', { unavailableUntil: { '*': nowMs + 900 } })]).availableAtMs).toBe(nowMs + 900);
  });
});

describe('soonIfUnreachable', () => {
  const drawn = (unavailableUntil: Record<string, number>, unreachableModels: string[]) =>
    drawOrder(
      soonIfUnreachable([{ ...candidate('a', { unavailableUntil }), unreachableModels }], nowMs),
      wanted,
      () => 0,
    );

  it.each([
    ['the model', { 'model-a': nowMs + 300_000 }, ['model-a']],
    ['all models', { '*': nowMs + 300_000 }, ['*']],
  ])('has a task draw again within seconds while the trip of %s is probed', (_what, until, unreachable) => {
    expect(drawn(until, unreachable)).toEqual({ order: [], availableAtMs: nowMs + 2_000 });
  });

  it.each([
    ['for another reason', { 'model-a': nowMs + 300_000 }, []],
    ['for another model only', { '*': nowMs + 300_000 }, ['model-a']],
  ])('leaves the end of a trip as it is %s', (_what, until, unreachable) => {
    expect(drawn(until, unreachable).availableAtMs).toBe(nowMs + 300_000);
  });

  it('does not make a trip longer', () => {
    expect(drawn({ 'model-a': nowMs + 500 }, ['model-a']).availableAtMs).toBe(nowMs + 500);
  });
});
