import { defineEntity, p } from '@mikro-orm/postgresql';

export const TaskResolution = defineEntity({
  name: 'TaskResolution',
  properties: {
    taskId: p.string().primary(),
    outcome: p.string().$type<'bought' | 'not_bought'>(),
    reference: p.string(),
    at: p.datetime().defaultRaw('clock_timestamp()'),
  },
});
