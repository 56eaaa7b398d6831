import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { countRows } from '../../support/rows.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: { EGRESS_ALLOW_CIDRS: '' } });
});
afterAll(() => gateway?.stop());

let project: TestProject;

/** A refused request: the route, its body if it is no GET, and what the message must say of the field, its value and what is accepted. */
type Refused = readonly [route: string, body: object | null, says: readonly string[], headers?: Record<string, string>];

const picture = 'aurora-image-1';
const chat = 'gpt-5-mini';
const hello = [{ role: 'user', content: 'hello' }];
const contents = [{ role: 'user', parts: [{ text: 'hello' }] }];
const image = { model: picture, prompt: 'a fox' };
const google = '/v1beta/models';

const refused: readonly Refused[] = [
  ['POST /v1/images/generations', { ...image, size: '128x128' }, ['size', '128x128', '1k, 2k, 4k']],
  ['POST /v1/images/generations', { ...image, response_format: 'png' }, ['response_format', '"png"', 'b64_json']],
  ['POST /v1/images/edits', { ...image, images: [] }, ['image', 'required']],
  ['POST /v1/videos', { model: 'veo-3.1', prompt: 'a boat', seconds: '12' }, ['seconds', '12', '8']],
  ['POST /v1/videos', { model: 'veo-3.1', prompt: 'a boat', size: '1024x1792' }, ['size', '1024x1792']],
  ['POST /v1/videos', { model: picture, prompt: 'a boat' }, [picture, 'takes video models']],
  ['GET /v1/videos?order=newest', null, ['order', 'newest', 'asc, desc']],
  ['GET /v1/videos?after=task_1', null, ['after', 'task_1']],
  ['GET /v1/models?pageSize=0', null, ['pageSize', '0', 'from 1 to 1000'], { 'x-goog-api-key': 'same' }],
  ['POST /v1/chat/completions', { model: chat, messages: hello, max_tokens: 0 }, ['max_tokens', '0', '>=1']],
  ['POST /v1/responses', { model: chat, input: 'hello', store: true }, ['store', 'must be false or absent']],
  [
    'POST /v1/responses',
    { model: chat, input: 'hello', max_output_tokens: 'x' },
    ['max_output_tokens', '"x"', 'number'],
  ],
  ['POST /v1/messages', { model: chat, messages: hello }, ['max_tokens', 'required']],
  ['POST /v1/messages', { model: chat, messages: hello, max_tokens: 9, top_k: -2 }, ['top_k', '-2', '>=-1']],
  [
    'POST /v1/messages',
    { model: chat, messages: hello, max_tokens: 9 },
    ['anthropic-version', 'today', '2023-06-01'],
    { 'anthropic-version': 'today' },
  ],
  ['POST /v1/messages/count_tokens', { model: 'gpt-5-minis', messages: hello }, ['gpt-5-minis', 'gpt-5-mini?']],
  [`POST ${google}/${chat}:generateContent?alt=xml`, { contents }, ['alt', 'xml', 'json']],
  [
    `POST ${google}/${chat}:generateContent`,
    { contents, generationConfig: { candidateCount: 2 } },
    ['generationConfig.candidateCount', '2', '1'],
  ],
  [
    `POST ${google}/${picture}:predict`,
    { instances: [{ prompt: 'a fox' }], parameters: { aspectRatio: '21:9' } },
    ['parameters.aspectRatio', '21:9', '16:9'],
  ],
  [
    `POST ${google}/${picture}:predict`,
    { instances: [{ prompt: 'a fox' }], parameters: { language: 'de' } },
    ['parameters.language', '"de"', 'auto'],
  ],
  ['GET /api/v1/tasks?status=done', null, ['status', 'done', 'succeeded']],
  ['GET /api/v1/tasks?limits=1', null, ['limits', 'limit?']],
  ['GET /api/v1/usage?group_by=week', null, ['group_by', 'week', 'day']],
  ['GET /api/v1/usage?from=soon', null, ['from', 'soon', 'unix seconds']],
  ['GET /api/v1/ledger?limit=101', null, ['limit', '101', 'from 1 to 100']],
  ['POST /api/v1/images/generate?wait=61', image, ['wait', '61', 'from 0 to 60']],
  ['POST /api/v1/images/generate', { ...image, deadline_seconds: 1 }, ['deadline_seconds', '1', 'from 30 to 600']],
  ['POST /api/v1/images/generate', { ...image, metadata: { a: 1 } }, ['metadata.a', '1', 'string']],
  ['POST /api/v1/images/generate', { ...image, max_credits: 3 }, ['max_credits', '3', '4 credits']],
];

/** Tests of the routes that other SDKs use and of those about tasks, keys and money. The gateway may be without a worker. */
describe('a refusal', () => {
  beforeAll(async () => {
    project = await gateway.project({ credits: 1_000 });
  });

  it.each(refused)('of %s %j says %j, and writes no row', async (route, body, says, headers = {}) => {
    const before = await countRows(gateway.database);
    const message = await refusalOf(route, body, headers);
    for (const words of says) expect(message).toContain(words);
    expect(await countRows(gateway.database)).toEqual(before);
  });
});
/** The message of a refusal in any dialect. */
async function refusalOf(route: string, body: object | null, more: Record<string, string>): Promise<string> {
  const [method = '', path = ''] = route.split(' ');
  const key = 'x-goog-api-key' in more ? { 'x-goog-api-key': project.apiKey } : more;
  const answer = await fetch(gateway.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${project.apiKey}`, ...key, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const { error } = (await answer.json()) as { error?: { message: string } };
  if (!error || answer.status < 400 || answer.status >= 500)
    throw new Error(`${route} is not refused: ${answer.status}`);
  return error.message;
}
