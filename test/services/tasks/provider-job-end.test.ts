import { describe, expect, it } from '@jest/globals';
import { providerJobEnd } from '../../../src/services/tasks/attempt/provider-job-end.ts';

describe('the end of an attempt whose job failed', () => {
  it.each([
    [
      { kind: 'failed', detail: 'x' },
      { outcome: 'transient', code: 'upstream_failed', errorClass: 'job_failed' },
    ],
    [
      { kind: 'refused', code: 'content_policy_violation', detail: 'x' },
      { outcome: 'refused', code: 'content_policy_violation', errorClass: 'content_policy' },
    ],
    [
      { kind: 'refused', code: 'upstream_failed', detail: 'x' },
      { outcome: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    ],
  ] as const)('has the class of its reason, and the policy only for the policy: %j', (polled, expected) => {
    expect(providerJobEnd(polled)).toMatchObject(expected);
  });
});
