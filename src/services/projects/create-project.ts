import { recordAudit } from '../../db/operators/audit.ts';
import { CreditAccount } from '../../db/entities/credit-account.ts';
import { Project } from '../../db/entities/project.ts';
import type { Deps } from '../../deps.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { callbackSecretContext, newWebhookSecret } from './callback-secret.ts';

/** Creates a project with an empty account and a callback secret. */
export async function createProject(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  { name, actor }: { name: string; actor: string },
) {
  const projectId = newId('prj');
  const webhookSecret = newWebhookSecret();
  await db.entities(async (em) => {
    const project = em.create(Project, {
      id: projectId,
      name,
      callbackSecret: sealer.seal(webhookSecret, callbackSecretContext(projectId)),
    });
    em.create(CreditAccount, { project });
    const after = { name, status: 'active' };
    await recordAudit(em, { actor, action: 'projects.create', subject: projectId, before: null, after });
  });
  return { projectId, webhookSecret };
}
