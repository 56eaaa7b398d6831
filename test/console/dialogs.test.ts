import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { closeByKeyboard, expectReachable, openByKeyboard } from './by-keyboard.ts';
import { expectFlawless, openConsole, signIn, type OpenConsole } from './open-console.ts';
import { dialogViews, stageViews } from './views.ts';

let opened: OpenConsole;

beforeAll(async () => {
  opened = await openConsole();
  await stageViews(opened);
  await signIn(opened);
});
afterAll(() => opened.close());

describe('a dialog of the console', () => {
  it.each(dialogViews)('opens and closes by keyboard, in every size and theme: $name', async (view) => {
    const { visit, stage } = opened;
    await visit.open(view.path(stage));
    await openByKeyboard(visit, view);
    await visit.picture(view.name);
    await expectReachable(visit, '[role=dialog]');
    await closeByKeyboard(visit, view);
  });

  it('is flawless in every picture, answer and script on the way', () => expectFlawless(opened.visit));
});
