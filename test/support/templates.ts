import { randomBytes } from 'node:crypto';
import { migrate } from '../../src/db/migrate.ts';
import { createTestDatabase, runtimeRole } from './database.ts';
import { quickSettings } from './gateway-settings.ts';
import { placeholderUrl } from './lead-channels.ts';
import { createOperator } from './operator.ts';

/**
 * Creates the two databases that the tests of a run copy, with the code of an installation. TEST_DATABASE_TEMPLATE is migrated.
 * TEST_GATEWAY_TEMPLATE also has the catalog and the sandbox's channels. A copy takes a tenth of the time of a migration. The role
 * of TEST_RUNTIME_PASSWORD has its privileges in every copy: roles belong to the server.
 */
export async function makeTemplates(): Promise<void> {
  const migrated = await createTestDatabase({ migrated: false });
  const owner = await migrated.open({ poolMax: 2 });
  const password = randomBytes(16).toString('hex');
  await owner.query('', `create role ${runtimeRole} login password '${password}'`);
  await migrate(owner, { runtimeRole });
  const prepared = await createTestDatabase({ template: migrated });
  await createOperator(await prepared.open(), {
    ...quickSettings,
    DATABASE_URL: prepared.url,
    SANDBOX_URL: placeholderUrl,
  }).prepare();
  await Promise.all([migrated.shut(), prepared.shut()]);
  process.env['TEST_RUNTIME_PASSWORD'] = password;
  process.env['TEST_DATABASE_TEMPLATE'] = migrated.name;
  process.env['TEST_GATEWAY_TEMPLATE'] = prepared.name;
}
