import { Migration } from '@mikro-orm/migrations';

/** What operators found out about tasks whose outcome upstream was not known. A task that has ended never changes itself. */
export class Migration0011Resolve extends Migration {
  override name = '0011-resolve';

  override up(): void {
    this.addSql(resolutions);
  }
}

const resolutions = `
create table task_resolution (
  task_id text primary key references task (id) on delete cascade,
  outcome text not null check (outcome in ('bought', 'not_bought')),
  reference text not null,
  at timestamptz not null default clock_timestamp()
);
`;
