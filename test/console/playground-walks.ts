import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import sharp from 'sharp';
import { eventually } from '../support/eventually.ts';
import type { AdminClient } from './admin-client.ts';
import type { Scene, Walk } from './scene.ts';

/** What a person tries in the playground. The client API is the one that every client uses. */
export const playgroundWalks: readonly Walk[] = [
  {
    promise: 'streams the answer of a chat model, shows what it cost, and stops when it is asked to',
    async walk({ visit, admin }) {
      await streamLive(admin, 'gpt-5-mini');
      await visit.open('/playground?model=gpt-5-mini');
      await visit.press('Send');
      const costs = visit.page.getByText(/\d credits? · .* · \d+ tokens/);
      await costs.waitFor();
      await visit.picture('playground-chat');

      await visit.fill('Message', 'Count slowly [[tokens=60 rate=60]]');
      await visit.page.evaluate(noteLengths);
      await visit.press('Send');
      await costs.nth(1).waitFor();
      expect(await visit.page.evaluate('window.lengths.size')).toBeGreaterThan(5);

      await visit.fill('Message', 'Count on [[tokens=400 rate=20]]');
      await visit.press('Send');
      await visit.page.locator('.bubble-assistant').last().getByText(/gate/).waitFor();
      await visit.press('Stop the answer');
      await visit.button('Send').waitFor();
    },
  },
  {
    promise: 'makes a video and plays it',
    async walk({ visit }) {
      await visit.open('/playground?model=kling-2.5-turbo');
      await visit.press('Generate');
      await visit.page.locator('video.media').waitFor();
      await visit.picture('playground-video');
    },
  },
  {
    promise: 'uploads a picture, which the task then takes as its input',
    async walk({ visit, gateway, stage }) {
      await visit.open(`/playground?model=aurora-image-1&project=${stage.studio.projectId}`);
      await visit.page.getByText('More options').click();
      const chooser = visit.page.waitForEvent('filechooser');
      await visit.press('Upload: Picture to start from');
      const picture = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
        .png()
        .toBuffer();
      await (await chooser).setFiles({ name: 'boat.png', mimeType: 'image/png', buffer: picture });
      const field = visit.page.getByLabel('Picture to start from', { exact: true });
      await visit.page.locator('input[value^="file_"]').first().waitFor();
      const fileId = await field.inputValue();
      expect(fileId).toMatch(/^file_/);
      await visit.picture('playground-upload');
      await visit.press('Generate');
      const link = visit.page.getByRole('link', { name: 'Details of this task' });
      await link.waitFor();
      const taskId = ((await link.getAttribute('href')) ?? '').split('/').at(-1) ?? '';
      const { body } = await gateway.get(stage.studio.apiKey, `/api/v1/tasks/${taskId}`);
      expect(body).toMatchObject({ input: { image: fileId } });
      await visit.page.locator('img.media').waitFor();
    },
  },
  {
    promise: 'shows the picture and keeps its project when the charge makes another project the richest',
    async walk({ visit, admin }) {
      const equals = await Promise.all(
        ['Twin one', 'Twin two', 'Twin three'].map(async (name) => {
          const project = String((await admin.change('POST', '/projects', { name }))['project_id']);
          await admin.change('POST', '/credits', { project, amount: 900_000, reference: `invoice of ${name}` });
          return project;
        }),
      );
      await visit.open('/playground?model=aurora-image-1');
      const wallet = visit.page.getByLabel('Project that pays', { exact: true }).first();
      const chosen = async (): Promise<string> => (await wallet.inputValue()).replace(/ \(.*/, '');
      await visit.page.getByText(/of [\d,]+ credits · \S+ left/).waitFor();
      const before = await chosen();
      expect(before).toMatch(/^Twin/);
      let balance = await wallet.inputValue();
      for (const pictures of [1, 2]) {
        await visit.press('Generate');
        await visit.page
          .locator('img.media')
          .nth(pictures - 1)
          .waitFor();
        // The list of projects has been read again: the balance beside the name has changed.
        const spent = balance;
        balance = await eventually(async () => (await wallet.inputValue()) !== spent && wallet.inputValue());
        expect(await chosen()).toBe(before);
      }
      await visit.open('/summaries');
      for (const project of equals) await admin.change('POST', `/projects/${project}/disable`);
    },
  },
  {
    promise: 'shows the price as one types, and the error of a field beside it',
    async walk({ visit }) {
      await visit.open('/playground?model=aurora-image-1');
      await visit.page.getByText(/of [\d,]+ credits · \S+ left/).waitFor();
      await visit.page.getByText('4k', { exact: true }).click();
      await visit.page.getByText('16 credits · $0.16', { exact: true }).waitFor();
      await visit.fill('Prompt', '');
      await visit.page.getByText('No price yet').waitFor();
      expect(visit.complaints.splice(0)).toEqual([expect.stringMatching(/^400 POST \S+\/images\/generate$/)]);
      await visit.picture('playground-error');
    },
  },
  {
    promise: 'copies the request as curl, Python and TypeScript, and the copies work',
    async walk(scene) {
      await copyAs(scene, 'aurora-image-1', /"task_id":|task_id:/);
      await copyAs(scene, 'gpt-5-mini', /chat\.completion/);
    },
  },
];

interface Entry {
  id: string;
  parameters: object;
}

/** Lets a chat model pass its answers on as its provider writes them. */
async function streamLive(admin: AdminClient, model: string): Promise<void> {
  const models = ((await admin.read('/catalog'))['data'] as Entry[]).map((entry) =>
    entry.id === model ? { ...entry, parameters: { ...entry.parameters, stream: true } } : entry,
  );
  await admin.change('PUT', '/catalog', { catalog: JSON.stringify({ models }) });
}

/** Notes each length of the last answer while it grows. */
const noteLengths = `window.lengths = new Set();
  new MutationObserver(() => window.lengths.add([...document.querySelectorAll('.bubble-assistant')].at(-1)?.textContent.length))
    .observe(document.body, { subtree: true, childList: true, characterData: true })`;

/** Copies each sample of a model's request, and runs the one for Node. */
async function copyAs({ visit, stage }: Scene, model: string, answer: RegExp): Promise<void> {
  await visit.open(`/playground?model=${model}`);
  await visit.press('Copy as code');
  const copied: string[] = [];
  for (const name of ['curl', 'Python', 'TypeScript']) {
    await visit.dialog.getByRole('tab', { name }).click();
    await visit.confirm(`Copy ${name}`);
    await visit.dialog.getByRole('button', { name: 'Copied' }).waitFor();
    copied.push(await visit.page.evaluate<string>('navigator.clipboard.readText()'));
  }
  await visit.picture(`code-${model}`);
  const [curl = '', python = '', typescript = ''] = copied;
  expect(curl).toMatch(/^curl http:\/\/\S+ \\\n {2}-H "Authorization: Bearer \$TOLLGATE_KEY"/);
  expect(python).toMatch(/^import os, requests\n/);
  for (const code of copied) expect(code).toContain(model);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module-typescript', '--eval', typescript],
    {
      env: { ...process.env, TOLLGATE_KEY: stage.studio.apiKey },
    },
  );
  expect(stdout).toMatch(answer);
}
