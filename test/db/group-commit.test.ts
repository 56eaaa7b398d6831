import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { GroupCommit } from '../../src/db/group-commit.ts';
import { eventually } from '../support/eventually.ts';

const patienceMs = 4_000;
const failing = (code: string) => Object.assign(new Error(code), { code });
const lockTimeout = '55P03';
const reset = 'ECONNRESET';

// A fake clock, so that the test decides when callers stop waiting.
beforeEach(
  () => void jest.useFakeTimers({ doNotFake: ['setTimeout', 'setImmediate', 'nextTick', 'queueMicrotask', 'Date'] }),
);
afterEach(() => void jest.useRealTimers());
const loseAllPatience = () => jest.advanceTimersByTime(patienceMs);

/** A group commit whose calls wait until the test answers them. */
function openDoor() {
  const calls: { members: string[]; answer: () => void; fail: (code: string) => void }[] = [];
  const reported: [string, string | null][] = [];
  const door = new GroupCommit<string, string>({
    membersMax: 10,
    patienceMs,
    run: (members) =>
      new Promise((resolve, reject) =>
        calls.push({
          members,
          answer: () => resolve(members.map((member) => `${member} is written`)),
          fail: (code) => reject(failing(code)),
        }),
      ),
    late: (member, verdict) => void reported.push([member, verdict]),
  });
  const call = (n: number) => eventually(() => Promise.resolve(calls[n - 1]), { what: `call ${n}` });
  return { door, calls, reported, call };
}

describe('a batch where traces are on', () => {
  it('runs in the places of its members, and outside of the place of the caller that starts it', async () => {
    const batchSpans: unknown[][] = [];
    let caller = 'first caller';
    const door = new GroupCommit<string, string>({
      membersMax: 10,
      traces: {
        here: () => caller,
        together: (spans, work) => {
          batchSpans.push([...spans]);
          return work();
        },
      },
      run: (members) => Promise.resolve(members),
    });
    const first = door.submit('a');
    caller = 'second caller';
    expect(await Promise.all([first, door.submit('b')])).toEqual(['a', 'b']);
    expect(batchSpans).toEqual([[], ['first caller', 'second caller']]);
  });
});

describe('a member whose caller stopped waiting', () => {
  it.each([
    ['after its transaction was rolled back', lockTimeout],
    ['after any other failure', '57014'],
  ])('is not retried %s, and no call is made if no caller waits', async (_case, code) => {
    const { door, calls, reported, call } = openDoor();
    const verdicts = Promise.allSettled([door.submit('a'), door.submit('b')]);
    const first = await call(1);
    loseAllPatience();
    expect((await verdicts).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    first.fail(code);
    await door.flush();
    expect(calls.map(({ members }) => members)).toEqual([['a', 'b']]);
    expect(reported).toEqual([]);
  });

  it('is reported as late once its verdict arrives, unlike a member that was answered in time', async () => {
    const { door, reported, call } = openDoor();
    const inTime = door.submit('in time');
    (await call(1)).answer();
    expect(await inTime).toBe('in time is written');
    const late = door.submit('late');
    const second = await call(2);
    loseAllPatience();
    await expect(late).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    second.answer();
    await door.flush();
    expect(reported).toEqual([['late', 'late is written']]);
  });

  it('is reported as late without a verdict if the connection is lost, and is not retried', async () => {
    const { door, calls, reported, call } = openDoor();
    const verdict = door.submit('a');
    const first = await call(1);
    loseAllPatience();
    await expect(verdict).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    first.fail(reset);
    await door.flush();
    expect(reported).toEqual([['a', null]]);
    expect(calls).toHaveLength(1);
  });

  it('is left out when the members of waiting callers run', async () => {
    const { door, calls, reported, call } = openDoor();
    const gone = door.submit('gone');
    const first = await call(1);
    loseAllPatience();
    await expect(gone).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    const waiting = door.submit('waiting');
    first.fail(lockTimeout);
    (await call(2)).answer();
    expect(await waiting).toBe('waiting is written');
    expect(calls.map(({ members }) => members)).toEqual([['gone'], ['waiting']]);
    expect(reported).toEqual([]);
  });
});

describe('a member whose caller still waits after a lost connection', () => {
  it('is retried, and is reported as late without a verdict if the retry fails too', async () => {
    const { door, calls, reported, call } = openDoor();
    const answered = door.submit('answered');
    (await call(1)).fail(reset);
    (await call(2)).answer();
    expect(await answered).toBe('answered is written');
    const verdict = door.submit('not known');
    (await call(3)).fail(reset);
    (await call(4)).fail('ECONNREFUSED');
    await expect(verdict).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await door.flush();
    expect(reported).toEqual([['not known', null]]);
    expect(calls).toHaveLength(4);
  });
});
