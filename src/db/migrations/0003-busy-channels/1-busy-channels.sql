-- A channel that was too busy for a task bought nothing, and may be called again for it from this time on.
alter table attempt add column if not exists retry_at timestamptz;
-- Whether the provider said that it is only for now: a rate limit, or a time with its 503.
alter table attempt add column retry_promised boolean;
-- Every other attempt stays the only one of its task on its channel, because it may have bought the job.
alter table attempt drop constraint attempt_request_id_channel_id_key;
create unique index if not exists attempt_bought_once_idx on attempt (request_id, channel_id) where retry_at is null;
