import { Migration } from '@mikro-orm/migrations';

/** A file may be a task's own copy of what a client's URL led to: one for each URL of a task. */
export class Migration0015TaskInputs extends Migration {
  override name = '0015-task-inputs';

  override up(): void {
    for (const sql of [source, oncePerTask]) this.addSql(sql);
  }
}

/** The SHA-256 of the URL: the URL itself stands in the task's input, and is erased with it. */
const source = `alter table file add column source text`;

const oncePerTask = `create unique index file_source_idx on file (task_id, source) where source is not null`;
