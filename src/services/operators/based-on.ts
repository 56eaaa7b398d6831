import type { Database } from '../../db/database.ts';
import { lockThingVersion, type Thing } from '../../db/operators/thing-versions.ts';
import { demandVersion } from '../catalog/entry-version.ts';

/** A thing as somebody has read it, who changes it. */
export type ReadThing = Thing & { version: string };

/**
 * The database for a change that is based on what was read: each of its transactions locks the thing first, and is refused with
 * `version_conflict` if the thing has another version by then. What does not exist is left to the change itself.
 */
export const basedOn = (db: Database, { version: based, ...thing }: ReadThing): Database =>
  db.beginningWith(async (inside) => {
    const present = await lockThingVersion(inside, thing);
    if (present !== null) demandVersion(thing.id, { based, present, param: 'If-Match' });
  });
