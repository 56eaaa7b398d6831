import { defineEntity, p } from '@mikro-orm/core';
import type { JsonObject } from '../../domain/json.ts';

export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  properties: {
    id: p.bigint('number').primary(),
    at: p.datetime().defaultRaw('clock_timestamp()'),
    actor: p.string(),
    action: p.string(),
    subject: p.string(),
    detail: p.json<JsonObject>(),
  },
});
