import { afterEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import {
  createUndeliveredChats,
  type UndeliveredChats,
} from '../../../../src/services/chat/state/undelivered-chats.ts';
import type { ChatSettlement } from '../../../../src/db/chat/chat-ledger.ts';
import type { Deps } from '../../../../src/deps.ts';
import { createMetrics } from '../../../../src/platform/observe/metrics.ts';
import { settledEnd } from '../../../db/chat-books.ts';
import { eventually } from '../../../support/eventually.ts';
import { metricValue } from '../../../support/metric-value.ts';

let undelivered: UndeliveredChats;
afterEach(() => undelivered.close());

const end = settledEnd({ requestId: 'req_1', channelId: 'chn_1' }, 7);

describe('a chat whose settlement was never acknowledged', () => {
  it('is counted, and given back once the database answers', async () => {
    const metrics = createMetrics();
    const attempted: string[] = [];
    const giveBack = ({ requestId }: ChatSettlement): Promise<number> => {
      attempted.push(requestId);
      return attempted.length === 1 ? Promise.reject(new Error('no database')) : Promise.resolve(7);
    };
    const chatLedger = { giveBack } as Deps['chatLedger'];
    undelivered = createUndeliveredChats({ chatLedger, logger: pino({ level: 'silent' }), metrics });
    undelivered.giveBack(end);
    expect(metricValue(await metrics.page(), 'tollgate_chats_undelivered_total')).toBe(1);
    await eventually(() => Promise.resolve(attempted.length === 2));
    expect(attempted).toEqual(['req_1', 'req_1']);
  });
});
