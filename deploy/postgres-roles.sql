-- Run by psql once, when the volume is empty. Each service owns its databases and none is a superuser.
\getenv tollgate_password TOLLGATE_DB_PASSWORD
\getenv temporal_password TEMPORAL_DB_PASSWORD

create role tollgate login password :'tollgate_password';
create role temporal login password :'temporal_password';

create database tollgate owner tollgate;
create database temporal owner temporal;
create database temporal_visibility owner temporal;

revoke connect on database tollgate, temporal, temporal_visibility from public;
