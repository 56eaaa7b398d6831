import { defineEntity, p } from '@mikro-orm/postgresql';

export const ApiKeySecret = defineEntity({
  name: 'ApiKeySecret',
  properties: {
    id: p.string().primary(),
    keyId: p.string(),
    digest: p.blob(),
    pepperId: p.string(),
    prefix: p.string(),
    last4: p.string(),
    checksummed: p.boolean().default(true),
    createdAt: p.datetime().defaultRaw('clock_timestamp()'),
    expiresAt: p.datetime().nullable(),
  },
});
