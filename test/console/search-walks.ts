import { expect } from '@jest/globals';
import type { Walk } from './scene.ts';

/** What a person does who has nothing but an id. */
export const searchWalks: readonly Walk[] = [
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
