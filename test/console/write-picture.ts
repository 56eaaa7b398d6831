import { spawn } from 'node:child_process';
import { mkdtempSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { z } from 'zod';
import { startBrowser } from './browser.ts';

/**
 * Writes the picture of the console that the README shows: starts a gateway with `npm start` on a new home, sends it some requests, and
 * photographs the overview.
 */
const picture = fileURLToPath(new URL('../../docs/console.png', import.meta.url));
const bytesMax = 200_000;
const Dev = z.object({
  base_url: z.string(),
  api_key: z.string(),
  admin_token: z.string(),
  pids: z.object({ supervisor: z.number() }),
});

const home = mkdtempSync(join(tmpdir(), 'tollgate-picture-'));
const ports = { PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0', SANDBOX_PORT: '0', PGPORT: '0' };
const started = spawn('npm', ['start'], { env: { ...process.env, ...ports, TOLLGATE_HOME: home }, stdio: 'ignore' });
const ended = new Promise((resolve) => started.once('exit', resolve));
let supervisor = started.pid ?? 0;
try {
  const dev = await readDev();
  supervisor = dev.pids.supervisor;
  await sendRequests(dev);
  await photograph(dev);
} finally {
  process.kill(supervisor, 'SIGTERM');
  await ended;
  rmSync(home, { recursive: true, force: true });
}

/** What `npm start` writes when everything is ready. */
async function readDev(): Promise<z.output<typeof Dev>> {
  const file = join(home, 'dev.json');
  while (!existsSync(file)) {
    if (started.exitCode !== null) throw new Error(`npm start ended with ${started.exitCode}`);
    await pause(500);
  }
  return Dev.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** Chats with several models, pictures, and a chat that its provider refuses. */
async function sendRequests({ base_url: url, api_key: key }: z.output<typeof Dev>): Promise<void> {
  const post = async (path: string, body: object): Promise<void> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    await (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
  };
  const chat = (model: string, content: string) =>
    post('/api/v1/chat/completions', { model, max_tokens: 200, messages: [{ role: 'user', content }] });
  const models = ['gpt-5-mini', 'claude-haiku-5.5', 'gemini-3.8-flash'];
  for (let round = 0; round < 12; round++) {
    const refused = round === 5 ? ' [[fail=refused]]' : '';
    await Promise.all([
      ...models.map((model, index) =>
        chat(model, `Name ${round + 1} uses of a paper boat${index === 0 ? refused : ''}`),
      ),
      post('/api/v1/images/generate?wait=20', { model: 'aurora-image-1', prompt: `A paper boat, number ${round}` }),
    ]);
  }
}

async function photograph({ base_url: url, admin_token: token }: z.output<typeof Dev>): Promise<void> {
  const browser = await startBrowser();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
  await page.goto(`${url}/console/overview#token=${token}`);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.locator('[data-loading]').first().waitFor({ state: 'detached' });
  await page.locator('.traffic, [data-traffic]').first().waitFor();
  const whole = await page.screenshot();
  await browser.close();
  const { size } = await sharp(whole).png({ palette: true, colors: 128, compressionLevel: 9 }).toFile(picture);
  if (size > bytesMax) throw new Error(`${picture} has ${size} bytes, more than ${bytesMax}`);
  process.stdout.write(`${picture}: ${size} bytes\n`);
}
