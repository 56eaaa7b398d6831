-- Whether a request was refunded because the provider refused it: as invalid, as too long, or by its content policy. The reasons are those of
-- test/db/ledger/refusal-reasons.ts.
create or replace function is_refusal(p_reason text) returns boolean
language sql immutable
as $$
  select coalesce(p_reason in ('request_refused', 'content_policy_violation', 'context_length_exceeded'), false);
$$;
