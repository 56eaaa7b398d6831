import { describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createBodyTurns } from '../../../src/http/server/body-turns.ts';
import { ClientGone } from '../../../src/http/request/read-body.ts';
import { until } from '../support.ts';

/** What a turn needs of an answer. */
const open = (): { res: ServerResponse } => ({ res: new EventEmitter() as ServerResponse });

describe('large bodies', () => {
  it('of one owner are checked one at a time, and do not wait for those of another', async () => {
    const turns = createBodyTurns();
    const end = await turns.begin(open(), 'prj_1', 100_000);
    const begun: string[] = [];
    void turns.begin(open(), 'prj_1', 100_000).then((endNext) => {
      begun.push('second');
      endNext(1);
    });
    void turns.begin(open(), 'prj_1', 100_000).then(() => begun.push('third'));
    (await turns.begin(open(), 'prj_2', 100_000))(1);
    expect(begun).toEqual([]);
    end(1);
    await until(() => begun.length === 2);
    expect(begun).toEqual(['second', 'third']);
  });

  it('of many megabytes are followed by a pause in which those of others, and smaller ones of their own project, are checked', async () => {
    const turns = createBodyTurns();
    const begun: string[] = [];
    (await turns.begin(open(), 'prj_1', 16_000_000))(16_000_000);
    const next = turns.begin(open(), 'prj_1', 16_000_000).then((end) => {
      begun.push('next');
      end(0);
    });
    for (const [owner, bytes] of [
      ['prj_2', 16_000_000],
      ['prj_1', 100_000],
      ['prj_3', 100_000],
    ] as const) {
      (await turns.begin(open(), owner, bytes))(0);
      begun.push(owner);
    }
    await next;
    expect(begun).toEqual(['prj_2', 'prj_1', 'prj_3', 'next']);
  });

  it('that are refused are answered one after another, those of others at once', async () => {
    const turns = createBodyTurns();
    const answered: string[] = [];
    await turns.refuse(open(), 'prj_1', 1_000_000);
    const next = turns.refuse(open(), 'prj_1', 100_000).then(() => answered.push('prj_1'));
    await turns.refuse(open(), 'prj_2', 100_000).then(() => answered.push('prj_2'));
    await next;
    expect(answered).toEqual(['prj_2', 'prj_1']);
  });

  it('of a client that leaves before its turn are not checked', async () => {
    const turns = createBodyTurns();
    const end = await turns.begin(open(), 'prj_1', 100_000);
    const leaving = open();
    const waiting = turns.begin(leaving, 'prj_1', 100_000);
    leaving.res.emit('close');
    await expect(waiting).rejects.toThrow(ClientGone);
    end(1);
    end(1);
    (await turns.begin(open(), 'prj_1', 100_000))(1);
  });
});
