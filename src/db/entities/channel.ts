import { defineEntity, p } from '@mikro-orm/postgresql';

export const Channel = defineEntity({
  name: 'Channel',
  properties: {
    id: p.string().primary(),
    name: p.string().unique(),
    adapter: p.string(),
    baseUrl: p.string(),
    credential: p.string(),
    groups: p.array(),
    priority: p.integer().default(1),
    weight: p.integer().default(1),
    enabled: p.boolean().default(true),
    listCheck: p.boolean().default(true),
    credentialId: p.string(),
    pooledAt: p.datetime().nullable(),
    rpm: p.integer().nullable(),
    tpm: p.integer().nullable(),
    parallel: p.integer().nullable(),
    createdAt: p.datetime().defaultRaw('clock_timestamp()'),
    updatedAt: p.datetime().defaultRaw('clock_timestamp()'),
  },
});
