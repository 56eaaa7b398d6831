import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { replay } from './replay.ts';

const folder = fileURLToPath(new URL('histories', import.meta.url));
const names = readdirSync(folder).map((file) => file.replace('.json', ''));
const textOf = (name: string): string => readFileSync(join(folder, `${name}.json`), 'utf8');
const eventsOf = (name: string): string[] =>
  z
    .object({ events: z.array(z.object({ eventType: z.string() })) })
    .parse(JSON.parse(textOf(name)))
    .events.map(({ eventType }) => eventType.replace('EVENT_TYPE_', ''));

describe('a recorded history', () => {
  it('replays with the current workflows, for every path', async () => {
    expect(await replay(folder)).toEqual(Object.fromEntries(names.map((name) => [name, null])));
  });

  it('replays with the interceptors of workers with traces, although it was recorded without', async () => {
    expect(await replay(folder, 'traced')).toEqual(Object.fromEntries(names.map((name) => [name, null])));
  });

  it('exists for every path', () => {
    expect(names.sort()).toEqual([
      'busy-channels',
      'canceled',
      'canceled-by-operator',
      'canceled-while-channels-are-busy',
      'canceled-while-parked',
      'delivered-again',
      'every-channel-failed',
      'every-channel-failed-before-busy-waits',
      'failed-callback',
      'failover',
      'happy',
      'happy-before-attempts-end-tasks',
      'parked',
      'parked-before-attempts-end-tasks',
      'refused',
      'rejected-402',
      'resumed',
      'resumed-after-end',
      'stale',
      'unknown',
      'waited-for-channel',
      'waited-for-channel-before-busy-waits',
      'with-callback',
      'with-callback-before-attempts-end-tasks',
    ]);
  });

  it.each([
    ['a renamed activity', (text: string) => text.replace('"name": "attempt"', '"name": "attempts"')],
    ['a missing timer', (text: string) => text.replaceAll('TIMER_STARTED', 'MARKER_RECORDED')],
  ])('does not replay after a change to %s', async (_what, change) => {
    const copies = mkdtempSync(join(tmpdir(), 'tollgate-histories-'));
    try {
      const changed = change(textOf('failed-callback'));
      expect(changed).not.toBe(textOf('failed-callback'));
      writeFileSync(join(copies, 'changed.json'), changed);
      expect(await replay(copies)).toEqual({ changed: expect.stringMatching(/determinism/i) });
    } finally {
      rmSync(copies, { recursive: true });
    }
  });
});

describe('the number of history events of a task', () => {
  it('is 14 if it succeeds without a callback', () => {
    expect(eventsOf('happy')).toHaveLength(14);
    expect(eventsOf('happy')).toContain('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
  });

  it('is 20 if its callback is delivered at the first try', () => {
    expect(eventsOf('with-callback')).toHaveLength(20);
    expect(eventsOf('with-callback')).toContain('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
  });
});

describe('the number of history events of a task whose job is parked', () => {
  it('is 26: a timer, the signal to collect and a second activity', () => {
    expect(eventsOf('parked')).toHaveLength(26);
    expect(eventsOf('parked')).toContain('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
    expect(eventsOf('parked').filter((type) => type === 'WORKFLOW_EXECUTION_SIGNALED')).toHaveLength(1);
  });
});

describe('the history of a task that waits for its busy channels', () => {
  it('has one timer for each wait and no activity while it waits', () => {
    expect(eventsOf('busy-channels').filter((type) => type === 'TIMER_STARTED')).toHaveLength(1);
    expect(eventsOf('busy-channels').filter((type) => type === 'ACTIVITY_TASK_SCHEDULED')).toHaveLength(4);
  });
});

describe('the data stored in Temporal', () => {
  it.each(names)('contains no prompt, URL, secret or data of a machine: %s', (name) => {
    const strings = stringsIn(JSON.parse(textOf(name)));
    expect(strings.some((text) => text.includes('"taskId"') || text.includes('"deliveryId"'))).toBe(true);
    expect(
      strings.filter((text) =>
        /\b(fox|dancer)\b|:\/\/|127\.0\.0\.1|\bsk-|whsec_|sbx-|\bfile:|\/\w+\/\w+\.(ts|js)|^\d+@/.test(text),
      ),
    ).toEqual([]);
  });
});

/** Every string of a document; payloads are decoded. */
function stringsIn(value: unknown, key = ''): string[] {
  if (typeof value === 'string') return [key === 'data' ? Buffer.from(value, 'base64').toString('utf8') : value];
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([inner, member]) => stringsIn(member, inner));
}
