import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import sharp from 'sharp';
import { eventually } from '../support/eventually.ts';
import type { AdminClient } from './admin-client.ts';
import type { Scene, Walk } from './scene.ts';
import type { Visit } from './visit.ts';

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

      await visit.fill('Message', 'Count [[tokens=60 rate=60]]');
      await visit.press('Send');
      await costs.nth(1).waitFor();

      await visit.fill('Message', 'Count slowly [[tokens=1000 rate=10]]');
      await visit.page.evaluate(noteLengths);
      await visit.press('Send');
      await eventually(async () => (await visit.page.evaluate<number>('window.lengths.size')) > 5, {
        what: 'an answer that grows',
      });
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
    promise: 'copies the request as curl and for the SDKs of Python and TypeScript, and the copies work',
    async walk(scene) {
      await copyAs(scene, 'aurora-image-1', /"task_id":|task_id:/);
      await copyAs(scene, 'gpt-5-mini', /chat\.completion/);
    },
  },
  {
    promise:
      'keeps the prompt when the model changes, and shows the own tasks of an operator, whose requests can be used again',
    async walk({ visit, stage }) {
      await visit.open(`/playground?model=aurora-image-1&project=${stage.studio.projectId}`);
      await visit.fill('Prompt', 'A gate made of paper');
      await visit.press('Generate');
      await visit.page.locator('img.media').waitFor();
      const earlier = visit.page
        .getByRole('list', { name: 'Your earlier tasks' })
        .getByRole('listitem')
        .filter({ hasText: 'A gate made of paper' });
      await earlier.first().waitFor();
      await chooseModel(visit, 'Model', 'FLUX 2 [pro]');
      const prompt = visit.page.getByRole('textbox', { name: 'Prompt', exact: true });
      await visit.page.waitForURL(/model=flux-2-pro/);
      expect(await prompt.inputValue()).toBe('A gate made of paper');
      await visit.fill('Prompt', 'Something else');
      await earlier.getByRole('button', { name: 'Use again' }).first().click();
      await visit.page.waitForURL(/model=aurora-image-1/);
      await eventually(async () => (await prompt.inputValue()) === 'A gate made of paper');
      await visit.picture('playground-history');
    },
  },
  {
    promise: 'copies as code what was sent to each of two chat models, with every option',
    async walk({ visit }) {
      await visit.open('/playground?model=gpt-5-mini&compare=claude-haiku-5.5');
      await visit.page.getByText(/Claude Haiku 5\.5: about \d+ tokens in: /).waitFor();
      await visit.fill('System prompt', 'Answer in one sentence.');
      await visit.page.getByRole('textbox', { name: 'Temperature' }).fill('0.5');
      await visit.press('Send');
      await visit.press('Copy as code: Claude Haiku 5.5');
      const sent = visit.dialog.getByRole('region', { name: 'Code for curl' });
      for (const part of [
        '"model": "claude-haiku-5.5"',
        '"temperature": 0.5',
        '"stream": true',
        'Answer in one sentence.',
      ])
        expect(await sent.textContent()).toContain(part);
      await visit.page.keyboard.press('Escape');
    },
  },
  {
    promise: 'compares two picture models side by side, and takes pictures that are pasted or dropped',
    async walk({ visit, stage, gateway }) {
      await visit.open(`/playground?model=aurora-image-1&compare=flux-2-pro&project=${stage.studio.projectId}`);
      await visit.page.getByText('FLUX 2 [pro]:').waitFor();
      await visit.press('Generate');
      for (const name of ['Aurora Image 1', 'FLUX 2 [pro]']) {
        const results = visit.page.getByRole('region', { name: `Results of ${name}` });
        await results.locator('img.media').waitFor();
        await results.getByText(/^sandbox-/).waitFor();
      }
      await visit.picture('playground-pictures-compared');
      await givePicture(visit, 'paste', 'Prompt');
      await visit.page.getByRole('img', { name: 'Picture to start from' }).waitFor({ state: 'attached' });
      await visit.open('/playground?model=gpt-5-mini');
      await givePicture(visit, 'drop', 'Message');
      await givePicture(visit, 'paste', 'Message');
      await visit.press('Remove picture 2');
      await visit.press('Send');
      await visit.page.getByRole('img', { name: 'Picture 1 of the question' }).waitFor();
      await visit.page.getByRole('link', { name: /^req_/ }).waitFor();
      const hits = await fetch(`${gateway.sandboxUrl}/_sandbox/hits`).then((answer) => answer.json());
      expect(JSON.stringify(hits)).toMatch(/"pictures":1/);
      await visit.picture('playground-chat-picture');
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

/** Chooses a model by its name in one of the two fields. */
async function chooseModel(visit: Visit, label: string, name: string): Promise<void> {
  const field = visit.page
    .getByRole('combobox', { name: label, exact: true })
    .or(visit.page.getByRole('textbox', { name: label, exact: true }));
  await field.first().click();
  await visit.page.getByRole('option', { name, exact: true }).click();
}

/** Pastes or drops a small picture on a field, as a browser reports it. */
async function givePicture(visit: Visit, how: 'paste' | 'drop', label: string): Promise<void> {
  const picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  await visit.page.getByRole('textbox', { name: label, exact: true }).focus();
  await visit.page.evaluate(`{
    const bytes = Uint8Array.from(atob('${picture.toString('base64')}'), (letter) => letter.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], 'boat.png', { type: 'image/png' }));
    const told = { clipboardData: data, dataTransfer: data, bubbles: true, cancelable: true };
    document.activeElement.dispatchEvent('${how}' === 'paste' ? new ClipboardEvent('paste', told) : new DragEvent('drop', told));
  }`);
}

/** Copies each sample of a model's request, and runs the one for Node. */
async function copyAs({ visit, stage }: Scene, model: string, answer: RegExp): Promise<void> {
  await visit.open(`/playground?model=${model}`);
  await visit.press('Copy as code');
  const copied: string[] = [];
  for (const name of ['curl', 'Python', 'TypeScript']) {
    await visit.dialog.getByRole('tab', { name }).click();
    await visit.page.evaluate(`navigator.clipboard.writeText('nothing')`);
    await visit.confirm(`Copy ${name}`);
    // The button says so for a second only.
    copied.push(
      await eventually(async () => {
        const text = await visit.page.evaluate<string>('navigator.clipboard.readText()');
        return text !== 'nothing' && text;
      }),
    );
  }
  await visit.picture(`code-${model}`);
  const [curl = '', python = '', typescript = ''] = copied;
  expect(curl).toMatch(/^curl http:\/\/\S+ \\\n {2}-H "Authorization: Bearer \$TOLLGATE_KEY"/);
  expect(python).toMatch(/^import os\nfrom openai import OpenAI\n/);
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
