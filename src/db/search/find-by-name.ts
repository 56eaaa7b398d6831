import type { Statements } from '../database.ts';
import type { Found } from './find-by-id.ts';

/** The most of each type that one search returns. */
const eachMax = 8;

/** How well a name matches the asked text `$1`, which is in lower case: the whole name, its beginning, or a part of it. */
const rankOf = (name: string): string =>
  `case when lower(${name}) = $1 then 0 when starts_with(lower(${name}), $1) then 1 else 2 end`;

const has = (name: string): string => `position($1 in lower(${name})) > 0`;

/**
 * What has a name with this text in it, in any case, best matches first. The names are read one after another: there are far fewer of them than
 * requests, and an index for parts of texts would need an extension of PostgreSQL.
 */
export const findByName = (database: Statements, text: string): Promise<Found[]> =>
  database.query(
    'search-names',
    `select type, id, name, shown_by from (
       (select 'project' as type, 1 as turn, ${rankOf('name')} as rank, id, name, id as shown_by from project where ${has('name')} order by rank, created_at desc limit ${eachMax})
       union all
       (select 'key', 2, ${rankOf('name')} as rank, id, name, id from api_key where name <> '' and ${has('name')} order by rank, created_at desc limit ${eachMax})
       union all
       (select 'model', 3, least(${rankOf('id')}, ${rankOf(`entry ->> 'display_name'`)}) as rank, id, entry ->> 'display_name', id from model
        where ${has('id')} or ${has(`entry ->> 'display_name'`)}
          or exists (select from jsonb_object_keys(private -> 'aliases') alias where ${has('alias')}) order by rank, position limit ${eachMax})
       union all
       (select 'channel', 4, ${rankOf('name')} as rank, id, name, id from channel where ${has('name')} order by rank, name limit ${eachMax})
       union all
       (select 'plan', 5, ${rankOf('name')} as rank, id, name, name from plan where ${has('name')} order by rank, name limit ${eachMax})
     ) found order by rank, turn`,
    [text.toLowerCase()],
  );

/** The keys one of whose secrets begins or ends with these characters. At least one of the two is given. */
export const findBySecret = (
  database: Statements,
  { first = null, last = null }: { first?: string | null; last?: string | null },
): Promise<Found[]> =>
  database.query(
    `search-secrets${first === null ? '' : '-first'}${last === null ? '' : '-last'}`,
    `select 'key' as type, k.id, k.name, k.id as shown_by
     from (select distinct key_id from api_key_secret
           where ${first === null ? '$1::text is null' : firstBetween} and ${last === null ? '$2::text is null' : 'last4 = $2'} limit ${eachMax}) s
     cross join lateral (select * from api_key k where k.id = s.key_id limit 1) k order by k.created_at desc`,
    [first, last],
  );

/** By the bytes, as the index has them. The tilde is the last of the characters of a key. */
const firstBetween = `prefix ~>=~ $1 and prefix ~<=~ ($1 || repeat('~', 8))`;
