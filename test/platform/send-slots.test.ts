import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { createSendSlots, type SendLimits, type SendSlot, type SendSlots } from '../../src/platform/send-slots.ts';

const limits: SendLimits = { total: 8, perProject: 4, perHost: 2, waitingPerProject: 3, waitMs: 60_000 };
const atOnce = { ...limits, waitMs: 0 };

describe('the slots of callbacks', () => {
  it('give a host, a project and the process never more than their limits', async () => {
    const call = fc.record({ project: fc.integer({ min: 0, max: 5 }), host: fc.integer({ min: 0, max: 5 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 40 }), async (calls) => {
        const slots = createSendSlots(atOnce);
        const entered: { project: string; host: string; slot: SendSlot }[] = [];
        for (const { project, host } of calls) {
          const named = { project: `p${project}`, host: `h${host}` };
          const slot = await slots.enter(named.project, named.host);
          if (slot.kind === 'entered') entered.push({ ...named, slot });
        }
        expect(entered.length).toBeLessThanOrEqual(atOnce.total);
        expect(Math.max(0, ...countsBy(entered, 'project'))).toBeLessThanOrEqual(atOnce.perProject);
        expect(Math.max(0, ...countsBy(entered, 'host'))).toBeLessThanOrEqual(atOnce.perHost);
        // All slots come back: the same calls enter again.
        for (const { slot } of entered) slot.release();
        for (const { project, host } of entered) {
          const again = await slots.enter(project, host);
          expect(again.kind).toBe('entered');
          if (again.kind === 'entered') again.release();
        }
      }),
    );
  });

  it('let a callback wait until one of its host has ended', async () => {
    const slots = createSendSlots(limits);
    const [first] = await Promise.all([entered(slots, 'p', 'h'), entered(slots, 'p', 'h')]);
    const waiting = entered(slots, 'p', 'h');
    first.release();
    await expect(waiting).resolves.toMatchObject({ kind: 'entered' });
  });

  it('let a later callback of another host pass those that wait', async () => {
    const slots = createSendSlots(limits);
    await Promise.all([entered(slots, 'p', 'slow'), entered(slots, 'p', 'slow')]);
    void slots.enter('p', 'slow');
    await expect(slots.enter('q', 'quick')).resolves.toMatchObject({ kind: 'entered' });
  });

  it('postpone the callbacks of a host that hangs one after the other, up to five minutes', async () => {
    const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000);
    const slots = createSendSlots({ ...limits, waitingPerProject: 0 });
    await Promise.all([entered(slots, 'p', 'h'), entered(slots, 'p', 'h')]);
    const waits: number[] = [];
    for (let n = 0; n < 2_000; n++) {
      const answer = await slots.enter('p', 'h');
      if (answer.kind === 'busy') waits.push(answer.waitSeconds);
    }
    clock.mockRestore();
    expect(waits).toHaveLength(2_000);
    expect(waits[0]).toBeLessThan(2);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits.at(-1)).toBe(300);
  });
});

async function entered(slots: SendSlots, project: string, host: string): Promise<SendSlot> {
  const slot = await slots.enter(project, host);
  if (slot.kind !== 'entered') throw new Error('there was no free slot');
  return slot;
}

/** The number of calls of each project or host. */
function countsBy(calls: { project: string; host: string }[], key: 'project' | 'host'): number[] {
  const groups = Map.groupBy(calls, (call) => call[key]);
  return [...groups.values()].map(({ length }) => length);
}
