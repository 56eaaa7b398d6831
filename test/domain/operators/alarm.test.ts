import { describe, expect, it } from '@jest/globals';
import { covers } from '../../../src/domain/operators/alarm.ts';

const alarm = { name: 'job_failed', subject: 'scheduled-maintenance' };

describe('a silence', () => {
  it.each([
    ['its name', 'job_failed', '', true],
    ['the name that it had in 0.2.0', 'a job failed', '', true],
    ['its name and its subject', 'job_failed', 'scheduled-maintenance', true],
    ['its name and another subject', 'job_failed', 'check-api-channels', false],
    ['another name', 'disk_full', '', false],
  ])('of an alarm under %s: %s, “%s”', (_, name, subject, isCovered) => {
    expect(covers({ name, subject }, alarm)).toBe(isCovered);
  });
});
