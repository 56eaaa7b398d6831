import { describe, expect, it } from '@jest/globals';
import { channelWaitMs } from '../../../src/domain/channels/channel-wait.ts';

describe('channelWaitMs', () => {
  it('waits until the channel is available again', () => {
    expect(channelWaitMs({ availableInMs: 7_000, waitedMs: 0 })).toBe(7_100);
  });

  it('makes less than a hundred rounds in an hour, whatever the channels ask for', () => {
    let waitedMs = 0;
    let rounds = 0;
    for (; waitedMs < 3_600_000; rounds++) waitedMs += channelWaitMs({ availableInMs: 0, waitedMs });
    expect(rounds).toBeLessThan(100);
  });

  it('adds at most a quarter to a busy time of 20 seconds', () => {
    let waitedMs = 0;
    while (waitedMs < 20_000) waitedMs += channelWaitMs({ availableInMs: 1_000, waitedMs });
    expect(waitedMs).toBeLessThanOrEqual(25_000);
  });
});
