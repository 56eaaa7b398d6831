-- When the newest backup was finished. What takes the backups writes it. Null: none was recorded. A former release does not read it.
alter table installation add column last_backup_at timestamptz;
