-- By default autovacuum waits until a fifth of a table is new. Of a billion rows that is months, after which one long vacuum freezes them all, and the
-- statistics of the newest rows are as old. A million rows are vacuumed in seconds.
alter table ledger_entry set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
                              autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000000);
-- Maintenance deletes a day of these every night, which is less than a fifth of what is kept.
alter table task set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);
alter table attempt set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);
