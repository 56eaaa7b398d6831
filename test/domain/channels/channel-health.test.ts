import { describe, expect, it } from '@jest/globals';
import { busyChannel, mayCallAgain } from '../../../src/domain/channels/channel-health.ts';
import type { Attempt } from '../../../src/domain/channels/upstream.ts';

const bounds = { usualSeconds: 5, maxSeconds: 60 };
const transient = (over: Partial<Extract<Attempt<never>, { kind: 'transient' }>>): Attempt<never> => ({
  kind: 'transient',
  errorClass: 'provider_error',
  detail: '',
  ...over,
});

describe('busyChannel', () => {
  it.each([
    ['a 429 without Retry-After', transient({ errorClass: 'rate_limit', status: 429 }), 5, true],
    ['a 429 with Retry-After', transient({ errorClass: 'rate_limit', status: 429, retryAfterSeconds: 7 }), 7, true],
    ['a Retry-After above the limit', transient({ errorClass: 'rate_limit', retryAfterSeconds: 3_600 }), 60, true],
    ['a 402 about our running requests', transient({ errorClass: 'rate_limit', status: 402 }), 5, true],
    ['a 429 about the load of the provider', transient({ status: 429 }), 5, true],
    ['a 503', transient({ status: 503 }), 5, false],
    ['a 503 with Retry-After', transient({ status: 503, retryAfterSeconds: 2 }), 2, true],
    ['a 529', transient({ status: 529 }), 5, false],
    ['the error of an overload in a 200', transient({ status: 200, lacksCapacity: true }), 5, false],
  ])('%s is busy', (_what, attempt, seconds, isPromised) => {
    expect(busyChannel(attempt, bounds)).toEqual({ seconds, isPromised });
  });

  it.each([
    ['a 500', transient({ status: 500 })],
    ['a 504', transient({ status: 504 })],
    ['another error in a 200', transient({ status: 200 })],
    ['a refused connection', transient({ errorClass: 'connect' })],
    ['an error of our account', transient({ errorClass: 'account', status: 401 })],
    ['an unknown model', transient({ errorClass: 'unknown_model', status: 404 })],
    ['a job that failed', transient({ errorClass: 'job_failed' })],
    ['a lost answer', { kind: 'unknown', errorClass: 'interrupted', detail: '' } as const],
    [
      'a refusal',
      { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected', detail: '', status: 400 } as const,
    ],
    ['a success', { kind: 'ok', value: true } as const],
  ])('%s is not busy', (_what, attempt) => {
    expect(busyChannel(attempt, bounds)).toBeNull();
  });
});

describe('mayCallAgain', () => {
  it.each([
    ['a refused connection', transient({ errorClass: 'connect', detail: 'ECONNREFUSED' })],
    ['no connection in time', transient({ errorClass: 'connect', detail: 'UND_ERR_CONNECT_TIMEOUT' })],
    ['an unknown host', transient({ errorClass: 'connect', detail: 'ENOTFOUND' })],
  ])('allows another call soon after %s, and does not take that for a promise', (_what, attempt) => {
    expect(mayCallAgain(attempt, bounds)).toEqual({ seconds: 3, isPromised: false });
  });

  it('allows another call of a channel that was too busy, when it asked for it', () => {
    expect(mayCallAgain(transient({ errorClass: 'rate_limit', retryAfterSeconds: 7 }), bounds)).toEqual({
      seconds: 7,
      isPromised: true,
    });
  });

  it.each([
    ['a connection that broke after the request was sent', { kind: 'unknown', errorClass: 'interrupted', detail: '' }],
    ['a 500', transient({ status: 500 })],
    ['a redirect', transient({ errorClass: 'redirect', status: 302 })],
    ['an error of our account', transient({ errorClass: 'account', status: 401 })],
  ] as const)('allows none after %s', (_what, attempt) => {
    expect(mayCallAgain(attempt, bounds)).toBeNull();
  });
});
