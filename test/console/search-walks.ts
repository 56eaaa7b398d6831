import { expect } from '@jest/globals';
import type { Walk } from './scene.ts';

/** What a person does who has nothing but an id. */
export const searchWalks: readonly Walk[] = [
  {
    promise: 'opens from the id of a task why it failed and what it cost, without a typed address',
    async walk({ visit, stage }) {
      const { page } = visit;
      await visit.open('/overview');
      await page.keyboard.press('/');
      await page.keyboard.insertText(stage.tasks.unknown);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Task' }).waitFor();
      await page.getByText('upstream_outcome_unknown').first().waitFor();
      await page.getByText(/^Attempt 1 at sandbox-/).waitFor();
      await page
        .getByText(new RegExp(`^Your image request ${stage.tasks.unknown} .* ended early and cost nothing`))
        .waitFor();
      expect(await page.getByRole('button', { name: 'Copy the sentence for the customer' }).count()).toBe(1);
      // The request that created it leads to the same.
      await page.locator('a[href*="/requests/req_"]').click();
      await page.getByRole('heading', { level: 1, name: 'Request' }).waitFor();
      await page.getByText(/^Attempt 1 at sandbox-/).waitFor();
    },
  },
  {
    promise: 'opens from the id of a chat why it was refunded, from any page by Ctrl-K',
    async walk({ visit, stage }) {
      const { page } = visit;
      await visit.open('/channels');
      await page.keyboard.press('Control+k');
      await page.keyboard.insertText(stage.chats.refunded);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Request' }).waitFor();
      await page.getByText("The provider's content policy refused the request.", { exact: false }).first().waitFor();
      await page.getByText(/ended early and cost nothing/).waitFor();
      await page.getByRole('heading', { name: 'What happened' }).waitFor();
    },
  },
  {
    promise: 'lists what a part of a name means, and says that nothing matches',
    async walk({ visit, stage }) {
      const { page } = visit;
      const search = page.getByRole('searchbox', { name: 'Search' });
      await visit.open('/overview');
      await search.fill('boat');
      await search.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Paper Boat Shop' }).waitFor();
      await search.fill('a');
      await search.press('Enter');
      const found = page.getByRole('region', { name: 'Found' });
      await found.getByRole('link', { name: 'Autumn pilot' }).waitFor();
      await visit.picture('search');
      await found.getByRole('link', { name: 'Autumn pilot' }).click();
      await page.getByRole('heading', { level: 1, name: 'Autumn pilot' }).waitFor();
      expect(page.url()).toContain(stage.pilot.projectId);
      await search.fill('nobody has this');
      await search.press('Enter');
      await page.getByText('Nothing matches.').waitFor();
      await search.press('Escape');
    },
  },
];
