-- How often the credits of the project have fallen to the threshold. The id of an event is derived from it, so that the receiver of an event
-- that is written again after a restore of the database knows it.
alter table balance_alert add column crossings int not null default 0;
