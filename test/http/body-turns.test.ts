import { describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createBodyTurns } from '../../src/http/body-turns.ts';
import { ClientGone } from '../../src/http/read-body.ts';
import { until } from './support.ts';

/** What a turn needs of an answer. */
const open = (): { res: ServerResponse } => ({ res: new EventEmitter() as ServerResponse });

describe('large bodies', () => {
  it('of one owner are checked one at a time, and do not wait for those of another', async () => {
    const turns = createBodyTurns();
    const end = await turns.begin(open(), 'prj_1');
    const begun: string[] = [];
    void turns.begin(open(), 'prj_1').then((endNext) => {
      begun.push('second');
      endNext(1);
    });
    void turns.begin(open(), 'prj_1').then(() => begun.push('third'));
    (await turns.begin(open(), 'prj_2'))(1);
    expect(begun).toEqual([]);
    end(1);
    await until(() => begun.length === 2);
    expect(begun).toEqual(['second', 'third']);
  });

  it('of many megabytes are followed by a pause in which those of others are checked', async () => {
    const turns = createBodyTurns();
    const begun: string[] = [];
    (await turns.begin(open(), 'prj_1'))(16_000_000);
    const next = turns.begin(open(), 'prj_1').then((end) => {
      begun.push('prj_1');
      end(0);
    });
    for (const owner of ['prj_2', 'prj_3', 'prj_2', 'prj_3']) {
      (await turns.begin(open(), owner))(0);
      begun.push(owner);
    }
    await next;
    expect(begun.at(-1)).toBe('prj_1');
  });

  it('of a client that leaves before its turn are not checked', async () => {
    const turns = createBodyTurns();
    const end = await turns.begin(open(), 'prj_1');
    const leaving = open();
    const waiting = turns.begin(leaving, 'prj_1');
    leaving.res.emit('close');
    await expect(waiting).rejects.toThrow(ClientGone);
    end(1);
    end(1);
    (await turns.begin(open(), 'prj_1'))(1);
  });
});
