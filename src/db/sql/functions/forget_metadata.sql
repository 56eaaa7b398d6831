-- Deletes the rows by which these tasks are found by their metadata. Call it while the tasks still have their metadata.
create or replace function forget_metadata(p_ids text[]) returns void
language plpgsql
set enable_seqscan = off
as $$
begin
  delete from task_metadata m using (
    select metadata_pair(t.project_id, e.key, e.value) as pair, t.created_at, t.id
    from task t cross join lateral jsonb_each_text(t.metadata) e where t.id = any (p_ids) and t.metadata is not null) gone
  where m.pair = gone.pair and m.created_at = gone.created_at and m.task_id = gone.id;
end $$;
