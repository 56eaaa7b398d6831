import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import type { DialogView } from './views.ts';
import type { Visit } from './visit.ts';

/**
 * Expects that the tabulator leads to everything that the page, or its open dialog, lets a person press or fill in, and that nothing is only
 * for the mouse.
 */
export async function expectReachable({ page }: Visit, scope: 'main' | '[role=dialog]'): Promise<void> {
  const count = await page.evaluate<number>(`(${startWatching})('${scope}')`);
  let missed: string[] = ['not begun'];
  // More than once around, because the header and the menu come first.
  for (let press = 0; press < 2 * count + 60 && missed.length > 0; press += 1) {
    await page.keyboard.press('Tab');
    if (press >= count) missed = await page.evaluate<string[]>('window.missed()');
  }
  expect(missed).toEqual([]);
  expect(await page.evaluate<string[]>(`(${onlyForTheMouse})('${scope}')`)).toEqual([]);
}

/** Opens a dialog without the mouse, and expects the focus in it. */
export async function openByKeyboard(visit: Visit, { opener, item }: DialogView): Promise<void> {
  const { page } = visit;
  await openByEnter(visit.button(opener), item === undefined ? visit.dialog : page.getByRole('menu'));
  if (item !== undefined) {
    // A key pressed before the menu has the focus is lost.
    await focusIsIn(page, 'menu');
    const wanted = page.getByRole('menuitem', { name: item, exact: true });
    for (let n = 0; n < 12 && !(await isFocused(wanted)); n += 1) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
  }
  await visit.dialog.waitFor();
  await focusIsIn(page, 'dialog');
}

/** Presses Enter on a control until something opens. A loaded browser has lost such a key. */
export const openByEnter = (control: Locator, opened: Locator): Promise<unknown> =>
  pressEnter(control, () => opened.first().waitFor({ timeout: answerMs }));

/** Presses Enter on a control, and again while `outcome` rejects. */
export const pressEnter = (control: Locator, outcome: () => Promise<unknown>): Promise<unknown> =>
  pressUntil(() => control.press('Enter', { timeout: answerMs }), outcome);

const pressUntil = (press: () => Promise<void>, outcome: () => Promise<unknown>): Promise<unknown> =>
  eventually(
    async () => {
      await press().catch(() => undefined);
      return outcome().then(
        () => true,
        () => false,
      );
    },
    { what: 'what a key does' },
  );

/** A key that has done nothing for so long counts as lost: the browser has handled it before `press` resolves. */
export const answerMs = 5_000;

/** Closes the open dialog by Escape, and expects the focus where it was before. */
export async function closeByKeyboard(visit: Visit, { opener }: DialogView): Promise<void> {
  const { page, dialog } = visit;
  await pressUntil(
    () => page.keyboard.press('Escape'),
    () => dialog.waitFor({ state: 'detached', timeout: answerMs }),
  );
  await eventually(() => isFocused(visit.button(opener)), { what: 'the focus on what opened the dialog' });
}

/** Asked from outside: `waitForFunction` evaluates text in the page, which the policy of the console refuses. */
export const focusIsIn = (page: Page, role: 'menu' | 'dialog'): Promise<unknown> =>
  eventually(() => page.evaluate<boolean>(hasFocus(role)), { what: `the focus in the ${role}` });

const hasFocus = (role: string): string => `document.activeElement.closest('[role=${role}]') !== null`;

export const isFocused = (item: Locator): Promise<boolean> =>
  item.evaluate(
    (element: { ownerDocument: { activeElement: unknown } }) => element.ownerDocument.activeElement === element,
  );

/** Notes what gets the focus, and returns how many elements should. Of a group of choices one does, and the arrows lead to the others. */
const startWatching = `(scope) => {
  const seen = new Set();
  addEventListener('focusin', ({ target }) => seen.add(target), true);
  const selector = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
  const wanted = () => [...document.querySelectorAll(scope + ' :is(' + selector + ')')].filter((element) =>
    element.checkVisibility({ visibilityProperty: true }) && !element.disabled && element.tabIndex >= 0 &&
    element.type !== 'file' && !(element.type === 'radio' && !element.checked));
  const nameOf = (element) => element.outerHTML.slice(0, 120);
  window.missed = () => wanted().filter((element) => !seen.has(element)).map(nameOf);
  return wanted().length;
}`;

/** What a pointer shows that it can be pressed, and no key can press. */
const onlyForTheMouse = `(scope) => {
  const keys = 'a[href], button, input, select, textarea, summary, label, [tabindex], [role=option], [role=menuitem]';
  return [...document.querySelectorAll(scope + ' *')]
    .filter((element) => getComputedStyle(element).cursor === 'pointer' && element.closest(keys) === null && element.checkVisibility())
    .map((element) => element.outerHTML.slice(0, 120));
}`;
