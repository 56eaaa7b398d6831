import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { projectFolder } from '../support/program.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Where the pictures of every page are kept for people. Tests need none, so they are taken only with `KEEP_PICTURES`. */
const screenshots = process.env['KEEP_PICTURES'] ? join(projectFolder, 'console', 'screenshots') : null;

export const sizes = {
  desktop: { width: 1280, height: 860 },
  phone: { width: 390, height: 844 },
  /** The desktop at 200 %: half of its pixels in each direction. */
  zoomed: { width: 640, height: 430 },
};

/**
 * Shows the open page, or its open dialog, at desktop and phone width and at 200 %, light and dark: keeps a picture of each for people who ask for them, and returns what is
 * wrong with any of them: violations that axe finds, and content that is wider than its place.
 */
export async function inspect(page: Page, name: string): Promise<string[]> {
  if (screenshots !== null) mkdirSync(screenshots, { recursive: true });
  const found: string[] = [];
  await settle(page);
  const isDialog = await page.getByRole('dialog').isVisible();
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport);
    // A zoom changes no colors.
    for (const colorScheme of size === 'zoomed' ? (['light'] as const) : (['light', 'dark'] as const)) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      // Pages that are not of the console take the scheme of the browser by themselves.
      await page
        .locator(`html:not([data-mantine-color-scheme]), html[data-mantine-color-scheme=${colorScheme}]`)
        .waitFor();
      await page.evaluate(transitionsOver);
      const file = `${name}-${size}-${colorScheme}.png`;
      if (screenshots !== null) await page.screenshot({ path: join(screenshots, file), fullPage: !isDialog });
      // Only the contrast depends on the colors.
      const rules = rulesOf(size, colorScheme);
      const scope = isDialog ? '[role=dialog]' : 'html';
      const problems = [...(await violationsOn(page, scope, rules)), ...(await overflowOn(page, scope))];
      found.push(...problems.map((problem) => `${name}, ${size}, ${colorScheme}: ${problem}`));
    }
  }
  await page.setViewportSize(sizes.desktop);
  return found;
}

/** Waits for what is on its way: tooltips of the mouse, queries and lazy parts of the page. */
async function settle(page: Page): Promise<void> {
  await page.mouse.move(0, 0);
  await page.getByRole('tooltip').first().waitFor({ state: 'detached' });
  await page.locator('[data-loading], .mantine-Skeleton-root').first().waitFor({ state: 'detached' });
}

/**
 * The frame of the page moves when the window gets narrow, and colors fade. Animations without an end, as of a loader, go
 * on. Those with an end are ended: waiting for them took two fifths of the time of all pictures. The end of one may begin another.
 */
const transitionsOver = `(async () => {
  const isFinite = ({ effect, playState }) => playState === 'running' && effect.getComputedTiming().endTime !== Infinity;
  const running = () => document.getAnimations().filter(isFinite);
  for (let some = running(); some.length > 0; some = running()) {
    for (const animation of some) animation.finish();
    await new Promise(requestAnimationFrame);
  }
})()`;

/**
 * Small targets are a rule of WCAG 2.2 that axe leaves out by default. A popover of a low window may cover a part of one. The dark form is
 * there for the contrast, and a zoom changes no color.
 */
const rulesOf = (size: string, colorScheme: 'light' | 'dark'): object => {
  const isZoomed = size === 'zoomed';
  return colorScheme === 'dark'
    ? { runOnly: ['color-contrast'] }
    : { rules: { 'target-size': { enabled: !isZoomed }, 'color-contrast': { enabled: !isZoomed } } };
};

/** The policy of the page allows no script of ours, so the debugger adds it. */
async function violationsOn(page: Page, scope: string, rules: object): Promise<string[]> {
  if (!(await page.evaluate<boolean>(`'axe' in window`))) {
    const session = await page.context().newCDPSession(page);
    await session.send('Runtime.evaluate', { expression: axeSource });
    await session.detach();
  }
  // Style sheets are loaded again for rules of experimental kind alone.
  const options = { ...rules, resultTypes: ['violations'], preload: false };
  // As texts, because the protocol of the browser takes long over everything else that axe finds.
  const textOf = `({ id, help, nodes }) => id + ': ' + help + ' (' + nodes.map(({ html }) => html).join(' ') + ')'`;
  const run = `axe.run(${JSON.stringify(scope)}, ${JSON.stringify(options)})`;
  return page.evaluate<string[]>(`${run}.then(({ violations }) => violations.map(${textOf}))`);
}

async function overflowOn(page: Page, scope: string): Promise<string[]> {
  const pixels = await page.evaluate<number>(
    `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector(${JSON.stringify(scope)}))`,
  );
  return pixels > 0 ? [`the content is ${pixels} pixels wider than its place`] : [];
}
