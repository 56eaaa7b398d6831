import { describe, expect, it } from '@jest/globals';
import { createFailureThrottle } from '../../../src/http/rate-limits/failure-throttle.ts';

describe('createFailureThrottle', () => {
  it('returns the seconds until an address is below its limit again, and resets after a minute', () => {
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

  it('counts all addresses of an IPv6 /64 network together and every IPv4 address alone', () => {
    const throttle = createFailureThrottle({ max: 1, now: () => 0 });
    expect([throttle.record('2001:db8::1'), throttle.record('2001:db8:0:0:ffff::2')]).toEqual([0, 60]);
    expect(throttle.record('2001:db8:0:1::1')).toBe(0);
    expect([
      throttle.record('::ffff:10.0.0.1'),
      throttle.record('::ffff:10.0.0.2'),
      throttle.record('10.0.0.1'),
    ]).toEqual([0, 0, 0]);
  });

  it('keeps at most addressesMax addresses', () => {
    const throttle = createFailureThrottle({ max: 1, now: () => 0, addressesMax: 2 });
    throttle.record('a');
    throttle.record('b');
    throttle.record('c');
    expect([throttle.record('c'), throttle.record('b'), throttle.record('a')]).toEqual([60, 60, 0]);
  });
});
