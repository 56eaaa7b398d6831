import type { Page } from 'playwright-core';

/** What a job takes: presses of the mouse, and fields that were typed into. */
export interface Effort {
  clicks: number;
  fields: number;
}

/**
 * Counts what a person does in the page meanwhile. The counters belong to the document, so a job that loads another address throws: it is done
 * without one, or by the links of the pages.
 */
export async function countClicks(page: Page, work: () => Promise<void>): Promise<Effort> {
  await page.evaluate(startCounting);
  await work();
  const effort = await page.evaluate<Effort | null>('window.effort && window.effort()');
  if (effort === null) throw new Error('the job has left the document in which it began');
  return effort;
}

const startCounting = `(() => {
  const count = { clicks: 0, fields: new Set() };
  addEventListener('pointerdown', ({ isTrusted }) => { if (isTrusted) count.clicks += 1; }, true);
  addEventListener('input', ({ target }) => count.fields.add(target), true);
  window.effort = () => ({ clicks: count.clicks, fields: count.fields.size });
})()`;
