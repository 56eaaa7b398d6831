import { createAdminToken } from '../../src/services/operators/create-admin-token.ts';
import { createTestDatabase } from '../support/database.ts';
import { testConfig } from '../support/test-config.ts';
import type { Scene } from './scene.ts';
import { startVisit } from './visit.ts';

/** A person at an installation that has no model, provider, project and key yet: a database of its own, with one more API server. */
export async function walkFreshInstallation({ gateway, browser, visit: owner }: Scene): Promise<void> {
  const empty = await createTestDatabase();
  const { name, baseUrl } = await gateway.startApi({ DATABASE_URL: empty.url });
  try {
    const deps = { db: await empty.open(), config: testConfig(gateway.env) };
    const { token } = await createAdminToken(deps, { role: 'owner', name: 'Ada', expiresAt: null, actor: 'test' });
    const visit = await startVisit(browser, baseUrl);
    await visit.open(`/overview#token=${token}`);
    await visit.page.getByRole('heading', { name: 'First steps' }).waitFor();
    await visit.page.getByText('No request in this range').waitFor();
    await visit.picture('fresh-overview');
    await visit.open('/channels');
    await visit.page.getByText('There is no channel yet').waitFor();
    await visit.picture('fresh-channels');
    owner.problems.push(...visit.problems);
    owner.complaints.push(...visit.complaints);
    await visit.page.context().close();
  } finally {
    await gateway.kill(name, 'SIGTERM');
    await empty.drop();
  }
}
