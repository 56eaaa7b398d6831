import { receiverAnswerBytesMax } from '../../domain/callbacks/callback-schedule.ts';
import type { Deps } from '../../deps.ts';
import { EgressRefusal } from '../../platform/egress/check-url.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { OperatorError } from '../operator-error.ts';
import { showProjectSecret } from '../projects/project-secret.ts';
import { callbackBody, callbackHeaders } from './callback-message.ts';
import { sampleTask, type EventType } from './sample-task.ts';

export interface TestCallback {
  /** The `webhook-id`. */
  eventId: string;
  /** Of the receiver's answer; null if there was none. */
  status: number | null;
  /** Why there was no answer. */
  error: string | null;
}

/**
 * Sends a sample of a callback to a URL, once, signed as the callbacks of the project are. The URL has to be one that a task may have as its
 * `callback_url`. Throws `OperatorError` for another URL and for an unknown project.
 */
export async function sendTestCallback(
  deps: Pick<Deps, 'config' | 'db' | 'egress' | 'sealer' | 'urls'>,
  { projectId, url, type }: { projectId: string; url: string; type: EventType },
): Promise<TestCallback> {
  const checked = checkedUrl(deps, url);
  const { webhookSecret, previousSecret } = await showProjectSecret(deps, projectId);
  const timestamp = Math.floor(Date.now() / 1000);
  const task = sampleTask(type, { projectId, now: timestamp });
  const id = newId('evt');
  const body = callbackBody(deps, id, task);
  const secrets = [webhookSecret, ...(previousSecret === null ? [] : [previousSecret])];
  const answer = await deps.egress.fetch(checked, {
    method: 'POST',
    headers: callbackHeaders(deps, { id, requestId: task.requestId, timestamp, body, secrets }),
    body,
    timeoutMs: deps.config.callbacks.timeoutSeconds * 1000,
    maxBytes: receiverAnswerBytesMax,
    purpose: 'callback',
  });
  return {
    eventId: id,
    status: answer.kind === 'blocked' ? null : (answer.status ?? null),
    error: answer.kind === 'answer' ? null : `${answer.kind}:${answer.reason}`,
  };
}

function checkedUrl({ egress }: Pick<Deps, 'egress'>, url: string): string {
  try {
    return egress.checkUrl(url, { purpose: 'callback' });
  } catch (error) {
    if (error instanceof EgressRefusal) throw new OperatorError(`The URL ${error.message}.`, { cause: error });
    throw error;
  }
}
