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
      endNext();
    });
    void turns.begin(open(), 'prj_1').then(() => begun.push('third'));
    (await turns.begin(open(), 'prj_2'))();
    expect(begun).toEqual([]);
    end();
    await until(() => begun.length === 2);
    expect(begun).toEqual(['second', 'third']);
  });

  it('of a client that leaves before its turn are not checked', async () => {
    const turns = createBodyTurns();
    const end = await turns.begin(open(), 'prj_1');
    const leaving = open();
    const waiting = turns.begin(leaving, 'prj_1');
    leaving.res.emit('close');
    await expect(waiting).rejects.toThrow(ClientGone);
    end();
    end();
    (await turns.begin(open(), 'prj_1'))();
  });
});
