import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { failureWalks } from './failure-walks.ts';
import { keyboardWalks } from './keyboard-walks.ts';
import { listWalks } from './list-walks.ts';
import { overviewWalks } from './overview-walks.ts';
import { recordWalks } from './record-walks.ts';
import { searchWalks } from './search-walks.ts';
import { truthWalks } from './truth-walks.ts';
import { usageWalks } from './usage-walks.ts';
import { stageViews } from './views.ts';
import { expectFlawless, openConsole, signIn, type OpenConsole } from './open-console.ts';

let opened: OpenConsole;

beforeAll(async () => {
  opened = await openConsole();
  await stageViews(opened);
  await signIn(opened);
});
afterAll(() => opened.close());

describe('the lists of the console', () => {
  it.each([
    ...listWalks,
    ...searchWalks,
    ...keyboardWalks,
    ...usageWalks,
    ...truthWalks,
    ...overviewWalks,
    ...recordWalks,
    ...failureWalks,
  ])('$promise', ({ walk }) => walk(opened));

  it('is flawless in every picture, answer and script on the way', () => expectFlawless(opened.visit));
});
