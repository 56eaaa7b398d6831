import type { Database } from '../../src/db/database.ts';

/** Where the channels of TEST_GATEWAY_TEMPLATE lead. No server listens on this port. */
export const placeholderUrl = 'http://127.0.0.1:1';

/** Points the channels in a copy of TEST_GATEWAY_TEMPLATE at this sandbox. */
export const leadChannelsTo = (sandboxUrl: string, database: Database): Promise<unknown> =>
  database.query('test-lead-channels', 'update channel set base_url = replace(base_url, $1, $2)', [
    placeholderUrl,
    sandboxUrl,
  ]);
