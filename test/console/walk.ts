import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { projectFolder } from '../support/program.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Where the pictures of every page are kept for people. */
const screenshots = join(projectFolder, 'console', 'screenshots');

const sizes = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };

/**
 * Shows the open page at desktop and phone width, light and dark: keeps a picture of each, and returns what is wrong with any of them:
 * violations that axe finds, and content that is wider than the screen.
 */
export async function inspect(page: Page, name: string): Promise<string[]> {
  mkdirSync(screenshots, { recursive: true });
  const found: string[] = [];
  // A tooltip is shown while the mouse is over its button.
  await page.mouse.move(0, 0);
  await page.getByRole('tooltip').first().waitFor({ state: 'detached' });
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
      await page.screenshot({ path: join(screenshots, `${name}-${size}-${colorScheme}.png`), fullPage: true });
      const problems = [...(await violationsOn(page)), ...(await overflowOn(page))];
      found.push(...problems.map((problem) => `${name}, ${size}, ${colorScheme}: ${problem}`));
    }
  }
  await page.setViewportSize(sizes.desktop);
  return found;
}

/** The policy of the page allows no script of ours, so the debugger adds it. */
async function violationsOn(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: axeSource });
  const run = 'window.axe.run()';
  const { violations } = await page.evaluate<AxeResults>(run);
  await session.detach();
  return violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map(({ html }) => html).join(' ')})`);
}

async function overflowOn(page: Page): Promise<string[]> {
  const pixels = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return pixels > 0 ? [`the content is ${pixels} pixels wider than the screen`] : [];
}
