import { expect } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { focusIsIn, openByEnter } from './by-keyboard.ts';
import type { Walk } from './scene.ts';
import type { Visit } from './visit.ts';

/** What a person does who has no mouse. */
export const keyboardWalks: readonly Walk[] = [
  {
    promise: 'lets a keyboard skip the menu, and walks the header, the menu and the page in the order of reading',
    async walk({ visit }) {
      await visit.open('/projects');
      await visit.page.keyboard.press('Tab');
      expect(await focused(visit)).toBe('Skip to the content');
      await visit.page.keyboard.press('Enter');
      await eventually(() => visit.page.evaluate<boolean>(`document.activeElement.id === 'main'`), {
        what: 'the focus on the content',
      });
      await visit.page.keyboard.press('Tab');
      expect(await focused(visit)).toBe('New project');

      await visit.open('/projects');
      const order: string[] = [];
      for (let press = 0; press < 20; press += 1) {
        await visit.page.keyboard.press('Tab');
        order.push(await focused(visit));
      }
      expect(order).toEqual([
        'Skip to the content',
        'Tollgate',
        'Search',
        expect.stringMatching(/^Use (dark|light) colors$/),
        expect.stringMatching(/^Signed in as/),
        'Overview',
        'Playground',
        'Tasks',
        'Requests',
        'Models',
        'Plans',
        'Channels',
        'Projects and keys',
        'Deliveries',
        'Audit',
        'Jobs',
        'Usage',
        'Summaries',
        'Access',
        'New project',
      ]);
    },
  },
  {
    promise: 'keeps the focus in a dialog, closes it by Escape, sends it by Enter, and gives the focus back',
    async walk({ visit, stage }) {
      const { keyboard } = visit.page;
      await visit.open('/projects');
      await openByEnter(visit.button('New project'), visit.dialog);
      await focusIs(visit, 'Name');
      for (let press = 0; press < 8; press += 1) {
        await keyboard.press('Tab');
        expect(await visit.page.evaluate('document.activeElement.closest("[role=dialog]") !== null')).toBe(true);
      }
      await keyboard.press('Escape');
      await visit.dialog.waitFor({ state: 'detached' });
      await focusIs(visit, 'New project');

      await visit.open(`/projects/${stage.shop.projectId}`);
      await openByEnter(visit.button('Add credits'), visit.dialog);
      // A dialog that opens takes the focus a moment later, also from another field.
      await focusIsIn(visit.page, 'dialog');
      await visit.dialog.getByLabel('Reference').focus();
      await keyboard.type('by keyboard');
      await keyboard.press('Enter');
      await visit.dialog.waitFor({ state: 'detached' });
      await focusIs(visit, 'Add credits');
      await visit.awaitMessage(/credits · \S+ now/);
    },
  },
  {
    promise: 'opens a menu by Enter, chooses by arrows, and gives the focus back to the menu after its dialog',
    async walk({ visit }) {
      const { keyboard } = visit.page;
      await visit.open('/channels');
      const menu = 'Actions for sandbox-a';
      const opener = visit.page.getByRole('button', { name: menu, exact: true });
      const items = visit.page.getByRole('menuitem');
      await openByEnter(opener, items);
      // A key pressed before the menu has the focus is lost.
      await focusIsIn(visit.page, 'menu');
      await keyboard.press('ArrowDown');
      await focusIs(visit, 'Edit');
      await keyboard.press('ArrowDown');
      await focusIs(visit, 'Priority and weight');
      await keyboard.press('ArrowUp');
      await keyboard.press('Enter');
      await visit.dialog.waitFor();
      await keyboard.press('Escape');
      await visit.dialog.waitFor({ state: 'detached' });
      await focusIs(visit, menu);
      await openByEnter(opener, items);
      await focusIsIn(visit.page, 'menu');
      await keyboard.press('Escape');
      await focusIs(visit, menu);
    },
  },
];

/** The name of what has the focus: its label, or else its text. */
const focused = (visit: Visit): Promise<string> =>
  visit.page
    .evaluate(`(({ ariaLabel, labels, textContent }) => (ariaLabel ?? labels?.[0]?.textContent ?? textContent).trim().replace(/ \\*$/, ''))(
    document.activeElement)`);

/** Waits until it has the focus. */
async function focusIs(visit: Visit, name: string): Promise<void> {
  await eventually(async () => (await focused(visit)) === name, { what: `the focus on ${name}` });
}
