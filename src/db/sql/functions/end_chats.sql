-- finish_chats without what was delivered, why it ended and its classes of tokens, which API servers of release 0.2.0 do not say during an upgrade.
create or replace function end_chats(
  p_request_ids text[], p_settled bigint[], p_channel_ids text[], p_input_tokens bigint[], p_output_tokens bigint[],
  p_usage_estimated boolean[], p_costs_micro_usd bigint[], p_attempt_ids text[], p_outcomes text[], p_error_classes text[],
  p_statuses int[], p_details text[], p_answer_statuses int[], p_answer_bodies text[])
returns table (ended boolean, charged bigint)
language plpgsql
as $$
declare
  no_tokens bigint[] := array_fill(null::bigint, array[cardinality(p_request_ids)]);
begin
  return query select * from finish_chats(
    p_request_ids, p_settled, p_channel_ids, p_input_tokens, p_output_tokens, p_usage_estimated,
    array_fill(null::int, array[cardinality(p_request_ids)]), p_costs_micro_usd, p_attempt_ids, p_outcomes, p_error_classes,
    p_statuses, p_details, p_answer_statuses, p_answer_bodies, array_fill(null::text, array[cardinality(p_request_ids)]),
    no_tokens, no_tokens, no_tokens, no_tokens);
end $$;
