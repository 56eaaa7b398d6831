import { defineEntity, p } from '@mikro-orm/postgresql';

export const ChannelHealth = defineEntity({
  name: 'ChannelHealth',
  properties: {
    channelId: p.string().primary(),
    modelId: p.string().primary(),
    unavailableUntil: p.datetime().nullable(),
    reason: p.string().nullable(),
    failures: p.integer().default(0),
    trips: p.integer().default(0),
    trippedAt: p.datetime().nullable(),
    probeUntil: p.datetime().nullable(),
    probeProjectId: p.string().nullable(),
    alarm: p.string().nullable(),
    alarmAt: p.datetime().nullable(),
    updatedAt: p.datetime().defaultRaw('clock_timestamp()'),
  },
});
