/** How old the newest recorded backup is, and whether PostgreSQL fails to archive its WAL. For the select list of a statement. */
export const backupColumns = `
  (select extract(epoch from clock_timestamp() - last_backup_at)::float8 from installation) as backup_age_seconds,
  (select case when last_failed_time > coalesce(last_archived_time, '-infinity')
     then extract(epoch from clock_timestamp() - coalesce(last_archived_time, stats_reset))::float8 else 0 end
   from pg_stat_archiver) as wal_not_archived_seconds`;
