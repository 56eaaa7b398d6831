import { defineEntity, p } from '@mikro-orm/core';

export const ChannelHealth = defineEntity({
  name: 'ChannelHealth',
  properties: {
    channelId: p.string().primary(),
    modelId: p.string().primary(),
    closedUntil: p.datetime().nullable(),
    reason: p.string().nullable(),
    failures: p.integer().default(0),
    opens: p.integer().default(0),
    openedAt: p.datetime().nullable(),
    probeUntil: p.datetime().nullable(),
    alarm: p.string().nullable(),
    alarmAt: p.datetime().nullable(),
    updatedAt: p.datetime().defaultRaw('clock_timestamp()'),
  },
});
