import { defineEntity, p } from '@mikro-orm/postgresql';
import { Project } from './project.ts';

export const CreditAccount = defineEntity({
  name: 'CreditAccount',
  properties: {
    project: () => p.oneToOne(Project).primary(),
    balance: p.bigint('number').default(0),
    reserved: p.bigint('number').default(0),
    inFlight: p.integer().default(0),
    overdraft: p.bigint('number').default(0),
    overdraftMax: p.bigint('number').default(0),
    deducted: p.bigint('number').default(0),
    grantInterval: p.integer().nullable(),
    grantMark: p.bigint('number').nullable(),
    grantDueAt: p.datetime().nullable(),
  },
});
