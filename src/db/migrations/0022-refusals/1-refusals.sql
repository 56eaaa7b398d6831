-- The code of the error that a request was answered with. Null for an answer without one, and for what an earlier release wrote.
alter table api_detail add column error_code text;
