-- The number under which task_metadata has one name and value of a project. Two pairs may share a number, so a statement that looks one up compares
-- the metadata of the task as well.
create or replace function metadata_pair(p_project_id text, p_name text, p_value text) returns bigint
language sql immutable
as $$
  select ('x' || left(md5(p_project_id || ' ' || length(p_name)::text || ' ' || p_name || p_value), 16))::bit(64)::bigint
$$;
