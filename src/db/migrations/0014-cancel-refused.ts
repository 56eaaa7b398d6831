import { Migration } from '@mikro-orm/migrations';

/**
 * A client's cancel that was refused: its mark stays, for nothing more is bought for who wants the task stopped, and beside
 * it stands that the decision was made.
 */
export class Migration0014CancelRefused extends Migration {
  override name = '0014-cancel-refused';

  override up(): void {
    this.addSql('alter table task add column cancel_refused_at timestamptz');
  }
}
