-- The class of a time in milliseconds. A class is 5 % wide, so the middle of its class is less than 3 % from any time.
create or replace function latency_class(p_ms float8)
returns int
language sql
immutable
as $$ select floor(ln(greatest(p_ms, 1)) / ln(1.05::float8))::int $$;
