import { Migration } from '@mikro-orm/migrations';

/**
 * Rows that are looked up by their id are found by their id only.
 *
 * The planner takes "not ended" for so rare that it prefers any index that can answer it to the primary key. Two could:
 * `reservation_time_idx` (BRIN on created_at, ended_at; every page range once held a row that had not ended, so it matches every
 * range) and the partial indexes on `state = 'held'` and `state = 'pending'` (one dead entry for each row that has ended since
 * the last vacuum). `end_chats` read the whole history at each call. From here on the partial indexes are on `ended_at is null`,
 * which only sweeps say, and what looks a row up says `state`.
 */
export class Migration0017HeldById extends Migration {
  override name = '0017-held-by-id';

  override up(): void {
    for (const sql of [timeIndexes, openIndexes, verbs]) this.addSql(sql);
  }
}

const timeIndexes = `
drop index reservation_time_idx;
create index reservation_created_idx on reservation
  using brin (created_at) with (pages_per_range = 32, autosummarize = on);
create index reservation_ended_idx on reservation
  using brin (ended_at) with (pages_per_range = 32, autosummarize = on) where ended_at is not null;
`;

const openIndexes = `
drop index reservation_held_idx;
create index reservation_held_idx on reservation (expires_at) where ended_at is null;
alter table delivery add check ((state = 'pending') = (ended_at is null));
drop index delivery_due_idx;
create index delivery_due_idx on delivery (next_attempt_at) where ended_at is null;
`;

const verbs = `
do $$
begin
  execute replace(pg_get_functiondef('end_chats(jsonb)'::regprocedure), 'r.ended_at is null', 'r.state = ''held''');
  execute replace(pg_get_functiondef('expire_chats(int)'::regprocedure), 'state = ''held''', 'ended_at is null');
end $$;
`;
