import { insertProject } from '../../db/projects/projects.ts';
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
  const callbackSecret = sealer.seal(webhookSecret, callbackSecretContext(projectId));
  await insertProject(db, { projectId, name, callbackSecret, actor });
  return { projectId, webhookSecret };
}
