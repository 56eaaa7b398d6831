-- Notes which models the provider's model list lacks, with a sentence about each. p_is_complete: false for a list that may go on, which
-- marks nothing. A mapping that succeeded within p_success_seconds is not marked, because some providers do not list every alias.
-- A mapping that the list has again is drawn again, and its alarm ends. Returns the models that changed.
create or replace function note_model_list(
  p_channel_id text, p_model_ids text[], p_reasons text[], p_is_complete boolean, p_success_seconds float8)
returns jsonb
language plpgsql
as $$
declare
  marked text[];
  cleared text[];
begin
  with lacking as (
    select l.model_id, l.reason from unnest(p_model_ids, p_reasons) as l (model_id, reason) where p_is_complete
  ), changed as (
    insert into channel_mapping_state as s (channel_id, model_id, state, since, reason)
    select c.id, l.model_id, 'unlisted', clock_timestamp(), l.reason
    from lacking l join channel c on c.id = p_channel_id and c.list_check
    on conflict (channel_id, model_id) do update set state = excluded.state, since = excluded.since, reason = excluded.reason
      where s.state is null
        and (s.succeeded_at is null or s.succeeded_at < clock_timestamp() - make_interval(secs => p_success_seconds))
    returning s.model_id
  )
  select coalesce(array_agg(changed.model_id), '{}') into marked from changed;
  with changed as (
    update channel_mapping_state s set state = null, since = null, reason = null
    where s.channel_id = p_channel_id and s.state = 'unlisted' and s.model_id <> all (p_model_ids)
    returning s.model_id
  )
  select coalesce(array_agg(changed.model_id), '{}') into cleared from changed;
  if cardinality(marked) > 0 then
    insert into channel_health as h (channel_id, model_id, alarm, alarm_at)
    select p_channel_id, m.model_id, 'unlisted', clock_timestamp() from unnest(marked) as m (model_id)
    on conflict (channel_id, model_id) do update
      set alarm = excluded.alarm, alarm_at = excluded.alarm_at, updated_at = clock_timestamp();
  end if;
  if cardinality(cleared) > 0 then
    update channel_health h set alarm = null, alarm_at = null, updated_at = clock_timestamp()
    where h.channel_id = p_channel_id and h.alarm = 'unlisted' and h.model_id = any (cleared);
  end if;
  return jsonb_build_object('marked', marked, 'cleared', cleared);
end $$;
