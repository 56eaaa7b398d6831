import { defineEntity, p } from '@mikro-orm/postgresql';
import type { Scope } from '../../domain/projects/scope.ts';

export const ApiKey = defineEntity({
  name: 'ApiKey',
  properties: {
    id: p.string().primary(),
    projectId: p.string(),
    name: p.string().default(''),
    metadata: p.json<Record<string, string>>(),
    scopes: p.array().$type<Scope[]>(),
    ipRanges: p.array().nullable(),
    models: p.array().nullable(),
    rpm: p.integer().nullable(),
    inFlightMax: p.integer().nullable(),
    budget: p.bigint('number').nullable(),
    budgetDaily: p.bigint('number').nullable(),
    budgetMonthly: p.bigint('number').nullable(),
    spent: p.bigint('number').default(0),
    reserved: p.bigint('number').default(0),
    usedOn: p.date().nullable(),
    daySpent: p.bigint('number').default(0),
    dayReserved: p.bigint('number').default(0),
    monthSpent: p.bigint('number').default(0),
    monthReserved: p.bigint('number').default(0),
    inFlight: p.integer().default(0),
    expiresAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
    lastUsedAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw('clock_timestamp()'),
  },
});
