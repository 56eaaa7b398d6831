import { addOperator } from '../../../src/services/operators/add-operator.ts';
import { beginSession } from '../../../src/services/operators/admin-access.ts';
import { answerOnce } from '../../../src/services/operators/answer-once.ts';
import { createAdminToken } from '../../../src/services/operators/create-admin-token.ts';
import { issuePlaygroundKey } from '../../../src/services/operators/issue-playground-key.ts';
import { revokeAdminToken } from '../../../src/services/operators/revoke-admin-token.ts';
import { addCredits } from '../../../src/services/ledger/add-credits.ts';
import { createKey } from '../../../src/services/projects/create-key.ts';
import { createProject } from '../../../src/services/projects/create-project.ts';
import { rotateProjectSecret } from '../../../src/services/projects/project-secret.ts';
import { revokeKey } from '../../../src/services/projects/revoke-key.ts';
import { rotateKey } from '../../../src/services/projects/rotate-key.ts';
import { setKey } from '../../../src/services/projects/set-key.ts';
import { setProjectEnabled } from '../../../src/services/projects/set-project-enabled.ts';
import type { Deps } from '../../../src/deps.ts';
import type { AdminAccess } from '../../../src/domain/operators/admin-access.ts';
import { run } from '../books.ts';
import type { DumpedSecrets } from './dumped-secrets.ts';

export const actor = 'cli:root';

type DumpedAccess = Pick<
  DumpedSecrets,
  'projectId' | 'webhookSecret' | 'previousWebhookSecret' | 'apiKey' | 'rotatedApiKey' | 'revokedApiKey' | 'adminToken'
> & { keyId: string };

/** Creates projects and keys in each state, with callback secrets that are sealed and were rotated. */
export async function fillProjects(deps: Deps): Promise<Omit<DumpedAccess, 'adminToken'>> {
  const { projectId, webhookSecret: previousWebhookSecret } = await createProject(deps, { name: 'dumped', actor });
  await addCredits(deps, { projectId, amount: 1_000, reference: 'invoice-1', actor });
  const { webhookSecret } = await rotateProjectSecret(deps, { projectId, actor });
  const key = (over: object = {}) => createKey(deps, { projectId, name: 'dumped', actor, ...over });

  const { keyId, apiKey } = await key({ inFlightMax: 50, rpm: 600, metadata: { team: 'maps' } });
  const rotated = await key({ budget: 500, budgetDaily: 400, budgetMonthly: 450 });
  const { apiKey: rotatedApiKey } = await rotateKey(deps, { keyId: rotated.keyId, actor });
  const limited = await key({ scopes: ['read'], ipRanges: ['203.0.113.0/24'], models: ['dump-chat-1'] });
  await setKey(deps, { keyId: limited.keyId, changes: { expiresAt: new Date('2099-01-01T00:00:00Z') }, actor });
  const revoked = await key();
  await revokeKey(deps, { keyId: revoked.keyId, actor });

  const disabled = await createProject(deps, { name: 'disabled', actor });
  await setProjectEnabled(deps, { projectId: disabled.projectId, enabled: false, actor });
  const revokedApiKey = revoked.apiKey;
  return { projectId, webhookSecret, previousWebhookSecret, keyId, apiKey, rotatedApiKey, revokedApiKey };
}

/** Creates who may use the admin API: tokens, an operator, their sessions, and a request that was answered. */
export async function fillAdmin(deps: Deps, projectId: string): Promise<{ adminToken: string }> {
  const { db } = deps;
  const owner = { name: 'ada', role: 'owner', expiresAt: null } as const;
  const { tokenId, token: adminToken } = await createAdminToken(deps, { actor, ...owner });
  const revoked = await createAdminToken(deps, { actor, ...owner, name: 'left', role: 'viewer' });
  await revokeAdminToken(deps, { tokenId: revoked.tokenId, actor });
  const identity = { issuer: 'https://id.example.com', subject: 'ada-1' };
  const { operatorId } = await addOperator(deps, { ...identity, name: 'Ada', role: 'operator', actor });
  const byToken: AdminAccess = { principalId: tokenId, identity: null, ...owner };
  const byOidc: AdminAccess = { principalId: operatorId, name: 'Ada', role: 'operator', identity, expiresAt: null };
  for (const access of [byToken, byOidc]) await beginSession(deps, access);
  await issuePlaygroundKey(deps, { access: byOidc, projectId, budgetDaily: 50 });
  await answerOnce(deps, { principalId: tokenId, key: 'key-3', fingerprint: 'same body' }, () =>
    Promise.resolve('{"object":"list"}'),
  );
  await run(
    db,
    `insert into oidc_sign_in (state_sha256, expires_at) values (repeat('0', 64), clock_timestamp() + interval '10 minutes')`,
  );
  return { adminToken };
}
