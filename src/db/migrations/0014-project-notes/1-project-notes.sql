-- What operators note about a project.
alter table project add column note text;
