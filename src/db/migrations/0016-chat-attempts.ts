import { Migration } from '@mikro-orm/migrations';

/** An attempt of a chat goes when its time is over, whether or not anybody ended it. */
export class Migration0016ChatAttempts extends Migration {
  override name = '0016-chat-attempts';

  override up(): void {
    this.addSql(purgeChatAttempts);
  }
}

/**
 * As before (0012), but for the outcome: where the answer to `next_chat_attempts` is lost its row stays open, for whoever ends the
 * chat does not know of it. What ends a chat's attempts for good is the end of its hold.
 */
const purgeChatAttempts = `
create or replace function purge_chat_attempts(p_seconds float8, p_limit int) returns int language plpgsql as $$
declare
  purged int;
begin
  delete from attempt where id in (
    select a.id from attempt a
    where a.started_at < clock_timestamp() - make_interval(secs => p_seconds) and is_summarised(a.started_at)
      and not exists (select from task t where t.id = a.request_id)
      and not exists (select from reservation r where r.id = a.request_id and r.state = 'held')
    limit p_limit for update skip locked);
  get diagnostics purged = row_count;
  return purged;
end $$;
`;
