import { defineEntity, p } from '@mikro-orm/postgresql';
import type { TraceContent } from '../../domain/projects/trace-content.ts';

export const Project = defineEntity({
  name: 'Project',
  properties: {
    id: p.string().primary(),
    name: p.string(),
    metadata: p.json<Record<string, string>>().defaultRaw(`'{}'`),
    status: p.string().$type<'active' | 'disabled'>().default('active'),
    note: p.string().nullable(),
    planId: p.string().nullable(),
    alertAt: p.array().nullable(),
    alertUrl: p.string().nullable(),
    alertMail: p.array().nullable(),
    traceContent: p.string().$type<TraceContent>().nullable(),
    callbackSecret: p.string(),
    callbackSecretPrevious: p.string().nullable(),
    callbackSecretPreviousUntil: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw('clock_timestamp()'),
  },
});
