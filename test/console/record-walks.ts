import { expect } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import type { Scene, Walk } from './scene.ts';

/** What each page names, as the beginnings of the addresses that it links to. */
const links = ({ stage }: Scene): [page: string, links: string[]][] => [
  ['/requests', ['/requests/req_', '/models/', '/projects/prj_', '/keys/key_', '/channels/']],
  [`/requests/${stage.chats.charged}`, ['/models/', '/projects/prj_', '/keys/key_', '/channels/']],
  ['/tasks', ['/tasks/task_', '/models/', '/projects/prj_', '/keys/key_']],
  [
    `/tasks/${stage.tasks.delivered}`,
    [`/requests/req_`, '/models/', '/projects/prj_', '/keys/key_', '/channels/', '/deliveries?task=task_'],
  ],
  ['/deliveries', ['/tasks/task_', '/projects/prj_']],
  ['/audit?action=keys.create', ['/keys/key_']],
  ['/audit?action=credits.add', ['/projects/prj_']],
  ['/channels', ['/channels/chn_']],
  [`/projects/${stage.studio.projectId}`, ['/keys/key_']],
  [`/projects/${stage.studio.projectId}?tab=usage`, ['/models/']],
  [`/projects/${stage.studio.projectId}?tab=ledger`, ['/keys/key_', '/requests/req_', '/tasks/task_']],
  [`/keys/${stage.studio.keyId}`, ['/projects/prj_', '/requests/req_', '/models/', '/channels/', '/requests?key=key_']],
  ['/usage?rows=project,model,key,channel', ['/projects/prj_', '/models/', '/keys/key_', '/channels/chn_']],
];

export const recordWalks: readonly Walk[] = [
  {
    promise: 'links whatever a page names to its page',
    async walk(scene) {
      const missing: string[] = [];
      for (const [path, expected] of links(scene)) {
        await scene.visit.open(path);
        for (const address of expected) {
          const found = scene.visit.page.locator(`main a[href^="/console${address}"]`).first();
          await found.waitFor().catch(() => missing.push(`${path}: ${address}`));
        }
      }
      expect(missing).toEqual([]);
    },
  },
  {
    promise: 'names a key by its name in the ledger and on the page of a chat, with its id as the title',
    async walk({ visit, stage, admin }) {
      const chat = await admin.read(`/chats/${stage.chats.charged}`);
      for (const [path, keyId] of [
        [`/projects/${stage.studio.projectId}?tab=ledger`, stage.studio.keyId],
        [`/requests/${stage.chats.charged}`, String(chat['key_id'])],
      ] as const) {
        await visit.open(path);
        const { name } = await admin.read(`/keys/${keyId}`);
        const key = visit.page.locator('main').getByTitle(keyId).first();
        await key.filter({ hasText: new RegExp(`^${String(name)}$`) }).waitFor();
        expect(await key.getAttribute('href')).toBe(`/console/keys/${keyId}`);
      }
    },
  },
  {
    promise: 'links a task and its request to each other, and neither to itself',
    async walk({ visit, stage, admin }) {
      const { page } = visit;
      const task = stage.tasks.delivered;
      const request = String((await admin.read(`/tasks/${task}`))['request_id']);
      for (const [here, there] of [
        [`/tasks/${task}`, `/requests/${request}`],
        [`/requests/${request}`, `/tasks/${task}`],
      ] as const) {
        await visit.open(here);
        await page.locator(`main a[href="/console${there}"]`).first().waitFor();
        expect(await page.locator(`main a[href="/console${here}"]`).count()).toBe(0);
        await page
          .locator('main code')
          .filter({ hasText: here.replace(/.*\//, '') })
          .waitFor();
      }
    },
  },
  {
    promise: 'opens the page of a key from its first and last characters, with its limits and its latest requests',
    async walk({ visit, stage, admin }) {
      const { page } = visit;
      const key = await admin.read(`/keys/${stage.studio.keyId}`);
      await visit.open('/overview');
      const search = page.getByRole('searchbox', { name: 'Search' });
      await search.fill(`${String(key['prefix'])}…${String(key['last4'])}`);
      await search.press('Enter');
      await page.getByText('Limits and their use').waitFor();
      expect(page.url()).toContain(`/keys/${stage.studio.keyId}`);
      await page.getByText('Created by').waitFor();
      await visit.picture('key');
      await visit.press('Change its limits');
      await visit.fill('Requests per minute', '500');
      await visit.confirm('Save');
      await visit.awaitMessage('The key is changed.');
      await page.getByText(/ of 500 in the last 60 seconds/).waitFor();
      await page.getByRole('link', { name: 'All of its requests' }).click();
      await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
      expect(page.url()).toContain(`key=${stage.studio.keyId}`);
    },
  },
  {
    promise: 'sorts all requests on the server, and picks a model and a key from lists',
    async walk({ visit, admin, stage }) {
      const { page } = visit;
      await visit.open('/requests');
      await visit.press('Took');
      await page.waitForURL(/sort=-took_ms/);
      const { data } = await admin.read('/requests?sort=-took_ms&limit=1');
      const [slowest] = data as { request_id: string }[];
      await page.locator(`tbody tr:first-child a[href$="/requests/${slowest?.request_id}"]`).waitFor();
      await page.getByRole('textbox', { name: 'Key' }).fill(stage.studio.keyId);
      await page.getByRole('option', { name: new RegExp(stage.studio.keyId) }).click();
      await page.waitForURL(new RegExp(`key=${stage.studio.keyId}`));
      await page.getByRole('textbox', { name: 'Model' }).click();
      await page.getByRole('option', { name: /gpt-5-mini/ }).click();
      await page.waitForURL(/model=gpt-5-mini/);
      await page.locator('tbody a[href$="/models/gpt-5-mini"]').first().waitFor();
    },
  },
  {
    promise: 'opens from its id why a chat was refused before any credits were held',
    async walk({ visit, stage, gateway }) {
      const { page } = visit;
      const refused = await gateway.create(stage.studio.apiKey, '/api/v1/chat/completions', {
        model: 'gpt-5-mini',
        messages: [{ role: 'user', content: 'Hello' }],
        max_tokens: 0,
      });
      const id = refused.headers.get('x-request-id') ?? '';
      await eventually(
        async () =>
          (await gateway.database.query('refused', 'select from api_detail where request_id = $1', [id])).length > 0,
        { what: 'the row of the refusal' },
      );
      await visit.open('/overview');
      const search = page.getByRole('searchbox', { name: 'Search' });
      await search.fill(id);
      await search.press('Enter');
      await page.getByText('The request was refused before any credits were held').waitFor();
      await page.getByText(new RegExp(`^Your request ${id} of .* was refused and cost nothing`)).waitFor();
      await visit.picture('request-refused');
      await page.locator(`main a[href$="/keys/${stage.studio.keyId}"]`).waitFor();
    },
  },
  {
    promise: 'keeps a client that left and was charged apart from a success and from other cut answers',
    async walk({ visit, stage, gateway }) {
      const { page } = visit;
      await gateway.database.transaction('begin', async (query) => {
        await query('', 'set local session_replication_role = replica');
        await query(
          '',
          `insert into ledger_entry (project_id, key_id, request_id, kind, credits, balance_after, model_id, held, began_at, reason)
           select $1, $2, 'req_' || reason, 'settle', 0, 0, 'gpt-5-mini', 1, now(), reason
           from unnest(array['client_left', 'upstream_timeout']) reason`,
          [stage.pilot.projectId, stage.pilot.keyId],
        );
      });
      await visit.open('/requests');
      await page.getByRole('combobox', { name: 'Outcome' }).click();
      await page.getByRole('option', { name: 'Left, charged', exact: true }).click();
      await page.waitForURL((url) => url.search !== '');
      // Until the filtered rows are read, the list keeps the former ones.
      await page.locator('tbody a[href$="/requests/req_upstream_timeout"]').waitFor({ state: 'detached' });
      await page.locator('tbody a[href$="/requests/req_client_left"]').waitFor();
      await page.locator('tbody').getByText('Left, charged').first().waitFor();
      expect(await page.locator('tbody a[href$="/requests/req_upstream_timeout"]').count()).toBe(0);
      await visit.picture('requests-left');
    },
  },
];
