-- Run by psql once, when the volume is empty. None of these roles is a superuser, and each database has one owner.
-- tollgate_owner migrates and owns the gateway's tables. tollgate, as which API server, worker and command line run, owns nothing
-- and creates nothing: `migrate` gives it the rows that it may read and write.
\getenv owner_password TOLLGATE_OWNER_DB_PASSWORD
\getenv tollgate_password TOLLGATE_DB_PASSWORD
\getenv temporal_password TEMPORAL_DB_PASSWORD

create role tollgate_owner login password :'owner_password';
create role tollgate login password :'tollgate_password';
create role temporal login password :'temporal_password';

create database tollgate owner tollgate_owner;
create database temporal owner temporal;
create database temporal_visibility owner temporal;

-- Everybody may connect to a new database and create temporary tables there.
revoke all on database tollgate, temporal, temporal_visibility from public;
grant connect on database tollgate to tollgate;
