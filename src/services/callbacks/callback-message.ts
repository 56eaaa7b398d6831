import type { Deps } from '../../deps.ts';
import { webhookKeys } from '../../platform/crypto/webhook-keys.ts';
import { webhookHeaders } from '../../platform/crypto/webhook-signature.ts';
import { callbackSecretContext } from '../projects/callback-secret.ts';
import { presentTask } from '../tasks/show/present-task.ts';
import { alarmOf } from '../../domain/operators/alarm.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';

const bodyBytesMax = 128_000;

/** The body of the callback about an ended task: `{id, type, timestamp, data}`, with the task as a poll returns it. Throws if it cannot be rendered. */
export function callbackBody(deps: Pick<Deps, 'urls'>, eventId: string, task: TaskView): string {
  const data = presentTask(deps, task);
  const event = {
    id: eventId,
    type: `task.${task.status}`,
    timestamp: new Date((task.completedAt ?? 0) * 1000).toISOString(),
  };
  const body = JSON.stringify({ ...event, data });
  if (Buffer.byteLength(body) <= bodyBytesMax) return body;
  // Only the input can be this long, and the client knows its own input.
  return JSON.stringify({ ...event, data: { ...data, input: null } });
}

/** All headers of a callback, signed with the project's secrets and with the gateway's key. */
export function callbackHeaders(
  { config }: Pick<Deps, 'config'>,
  {
    requestId,
    ...signed
  }: { requestId: string; id: string; timestamp: number; body: string; secrets: readonly string[] },
): Record<string, string> {
  const [key] = webhookKeys(config.secrets.masterKeys);
  if (!key) throw new Error('no master key is configured');
  return {
    'content-type': 'application/json',
    'user-agent': 'Tollgate-Callback/1',
    'x-request-id': requestId,
    ...webhookHeaders({ ...signed, signingKey: key.privateKey }),
  };
}

/** The callback secrets of a project as they are stored. */
export interface SealedSecrets {
  projectId: string;
  sealedSecret: string;
  /** Signs beside the new secret while a rotation overlaps. */
  sealedPreviousSecret: string | null;
}

/** The project's secret and, during a rotation, the previous one. If one of them cannot be decrypted, the other one signs alone. */
export function unsealSecrets(
  { sealer, logger }: Pick<Deps, 'sealer' | 'logger'>,
  { projectId, sealedSecret, sealedPreviousSecret }: SealedSecrets,
  about: object,
): string[] {
  const context = callbackSecretContext(projectId);
  return [sealedSecret, sealedPreviousSecret].flatMap((sealed) => {
    if (sealed === null) return [];
    try {
      return [sealer.open(sealed, context)];
    } catch (error) {
      logger.error(
        { ...about, err: error, ...alarmOf('callback_secret_unreadable') },
        'the callback secret of a project could not be decrypted',
      );
      return [];
    }
  });
}
