-- Whether the cost of a call of an ended request is unknown: it was sent, and its provider may have billed it. A call of a task has its price from
-- its start, and counts with it once the provider may have taken the job. The price of a chat is known only from its answer, so that of one
-- that broke off or cannot be read is not. The classes are those by which the outcome of a media submit is unknown
-- (src/domain/channels/upstream.ts).
create or replace function has_unknown_cost(p_request_id text, p_outcome text, p_error_class text, p_operation jsonb, p_cost_micro_usd bigint)
returns boolean
language sql immutable
as $$
  select case when p_request_id like 'task\_%' then p_outcome is null and p_operation is null and p_cost_micro_usd <> 0
    else p_cost_micro_usd = 0 and (coalesce(p_outcome, 'unknown') = 'unknown'
      or coalesce(p_outcome = 'transient' and p_error_class in ('interrupted', 'deadline', 'unreadable', 'job_lost', 'output'), false)) end;
$$;
