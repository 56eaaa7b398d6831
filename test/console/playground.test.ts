import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { expectFlawless, openConsole, signIn, type OpenConsole } from './open-console.ts';
import { playgroundWalks } from './playground-walks.ts';
import { roleWalks } from './role-walks.ts';
import { stageViews } from './views.ts';

let opened: OpenConsole;

beforeAll(async () => {
  opened = await openConsole();
  await stageViews(opened);
  await signIn(opened);
});
afterAll(() => opened.close());

describe('the playground', () => {
  it.each(playgroundWalks)('$promise', ({ walk }) => walk(opened));

  it.each(roleWalks)('$promise', ({ walk }) => walk(opened));

  it('is flawless in every picture, answer and script on the way', () => expectFlawless(opened.visit));
});
