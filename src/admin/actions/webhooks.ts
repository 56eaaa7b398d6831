import { z } from 'zod';
import { eventTypes } from '../../services/callbacks/sample-task.ts';
import { sendTestCallback } from '../../services/callbacks/send-test-callback.ts';
import { PassedCallbacks, TestCallbackSchema } from '../schemas/callbacks.ts';
import { group, option, action } from '../define-action.ts';
import { shortText, text } from '../input.ts';
import { loopbackUrl } from '../loopback-url.ts';

/** `tollgate webhooks …`: callbacks for those who write a receiver. */
export const webhookActions = group('callbacks for those who write a receiver', () => ({ listen, 'send-test': test }));

const listen = action({
  summary: 'pass the callbacks of a project on to a server of this machine, until Ctrl-C',
  input: {
    forward: option('<url>', loopbackUrl).describe('http URL of this machine, such as http://127.0.0.1:3000/hooks'),
    apiKey: option('<key>', shortText.optional()).describe(
      'key with the scope read; the default is TOLLGATE_API_KEY, else the key of "npm start"',
    ),
    url: option('<url>', z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional()).describe(
      'address of the gateway; the default is TOLLGATE_BASE_URL, else that of "npm start"',
    ),
  },
  route: { local: 'sends to a server of this machine' },
  answer: PassedCallbacks,
  needs: 'listener',
  async run({ listen: passOn }, { forward: targets, apiKey, url: baseUrl }) {
    const { accepted, refused } = await passOn({ targets, apiKey, baseUrl });
    return {
      document: { accepted, refused },
      text: `${accepted} callbacks were accepted, ${refused} were not.`,
    };
  },
});

const test = action({
  summary: 'send a signed sample of a callback to a URL, once; exits 1 unless it is accepted',
  input: {
    project: option('<id>', shortText).describe('project whose secret signs'),
    url: option('<url>', text().max(2_048, 'must have at most 2048 characters')).describe(
      'URL that a task could have as its callback_url',
    ),
    event: option('<type>', z.enum(eventTypes).default('task.succeeded')).describe('type of the event'),
  },
  example: { url: 'https://shop.example/hooks/tollgate', event: 'task.failed' },
  route: { method: 'POST', path: '/projects/:project/test-callback', role: 'operator' },
  answer: TestCallbackSchema,
  refusals: ['not_found', 'action_refused'],
  needs: 'worker',
  async run(deps, { project: projectId, url, event: type }) {
    const { eventId, status, error } = await sendTestCallback(deps, { projectId, url, type });
    const isAccepted = error === null && status !== null && status >= 200 && status < 300;
    const outcome = error === null ? `answered ${status}` : `failed: ${error}`;
    return {
      document: { event_id: eventId, type, url, status, error, ok: isAccepted },
      text: `Sent ${type} as ${eventId}: ${outcome}.`,
      refused: !isAccepted,
    };
  },
});
