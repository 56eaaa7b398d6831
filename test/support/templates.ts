import { migrate } from '../../src/db/migrate.ts';
import { createTestDatabase } from './database.ts';
import { quickSettings } from './gateway-settings.ts';
import { createOperator } from './operator.ts';
import type { Database } from '../../src/db/database.ts';

/**
 * Makes the two databases that the tests of a run copy, by the same code that an installation uses: TEST_DATABASE_TEMPLATE is
 * migrated, TEST_GATEWAY_TEMPLATE has the catalog and the sandbox's channels as well. Copying takes a tenth of the time.
 */
export async function makeTemplates(): Promise<void> {
  const migrated = await createTestDatabase({ migrated: false });
  await migrate(await migrated.open({ poolMax: 2 }));
  const prepared = await createTestDatabase({ template: migrated });
  await createOperator(await prepared.open(), {
    ...quickSettings,
    DATABASE_URL: prepared.url,
    SANDBOX_URL: placeholderUrl,
  }).prepare();
  await Promise.all([migrated.shut(), prepared.shut()]);
  process.env['TEST_DATABASE_TEMPLATE'] = migrated.name;
  process.env['TEST_GATEWAY_TEMPLATE'] = prepared.name;
}

/** For a copy of TEST_GATEWAY_TEMPLATE: its channels lead to this sandbox from now on. */
export const leadChannelsTo = (sandboxUrl: string, database: Database): Promise<unknown> =>
  database.query({ name: 'test-lead-channels', text: 'update channel set base_url = replace(base_url, $1, $2)' }, [
    placeholderUrl,
    sandboxUrl,
  ]);

/** Nothing listens there. */
const placeholderUrl = 'http://127.0.0.1:1';
