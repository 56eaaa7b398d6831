import type * as Entities from './index.ts';

/**
 * The entities and what a statement with them needs of MikroORM. They are loaded by the statement that uses them, because they are most of what
 * the command line loads.
 */
export const loadEntities = (): Promise<typeof Entities> => import('./index.ts');
