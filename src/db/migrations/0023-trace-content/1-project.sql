-- Whether the spans of a project's chats have what was said: with personal data and secrets redacted, or in full. Null, for every project that has not
-- opted in: nothing of it.
alter table project add column trace_content text check (trace_content in ('redacted', 'full'));
