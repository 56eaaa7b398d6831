-- What operators search for by a value that is not the id of a row.

-- The request that created a task.
create index if not exists task_request_idx on task (request_id);
-- The first and the last characters of a key. `text_pattern_ops` finds texts by their beginning under every collation.
create index if not exists api_key_secret_prefix_idx on api_key_secret (prefix text_pattern_ops);
create index if not exists api_key_secret_last4_idx on api_key_secret (last4);
-- The id of a job at its provider, by the member that each adapter saves it as. A row gets it once, with the answer to its submit.
create index if not exists attempt_provider_job_idx on attempt ((coalesce(operation ->> 'task_id', operation ->> 'request_id', operation ->> 'prediction_id',
  operation ->> 'interaction_id', operation ->> 'video_id', operation ->> 'name'))) where operation is not null;
