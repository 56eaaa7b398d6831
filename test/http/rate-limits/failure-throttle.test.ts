import { describe, expect, it } from '@jest/globals';
import { createFailureThrottle } from '../../../src/http/rate-limits/failure-throttle.ts';

describe('createFailureThrottle', () => {
  it('says how long an address is over its limit, and forgets after a minute', () => {
    let now = 0;
    const throttle = createFailureThrottle({ max: 2, now: () => now });
    expect([throttle.record('a'), throttle.record('a'), throttle.record('a'), throttle.record('b')]).toEqual([
      0, 0, 60, 0,
    ]);
    now = 59_500;
    expect(throttle.record('a')).toBe(1);
    now = 60_000;
    expect(throttle.record('a')).toBe(0);
  });

  it('takes the addresses of one IPv6 network for one, and those of IPv4 each for its own', () => {
    const throttle = createFailureThrottle({ max: 1, now: () => 0 });
    expect([throttle.record('2001:db8::1'), throttle.record('2001:db8:0:0:ffff::2')]).toEqual([0, 60]);
    expect(throttle.record('2001:db8:0:1::1')).toBe(0);
    expect([
      throttle.record('::ffff:10.0.0.1'),
      throttle.record('::ffff:10.0.0.2'),
      throttle.record('10.0.0.1'),
    ]).toEqual([0, 0, 0]);
  });

  it('never remembers more addresses than it may', () => {
    const throttle = createFailureThrottle({ max: 1, now: () => 0, addressesMax: 2 });
    throttle.record('a');
    throttle.record('b');
    throttle.record('c');
    expect([throttle.record('c'), throttle.record('b'), throttle.record('a')]).toEqual([60, 60, 0]);
  });
});
