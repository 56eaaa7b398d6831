import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { allActions } from '../../src/admin/table.ts';
import { notInTheConsole } from '../docs/not-in-the-console.ts';
import { actions } from './actions.ts';
import { everydayWalks } from './everyday-walks.ts';
import { expectFlawless, openConsole, signIn, type OpenConsole } from './open-console.ts';
import { requestOf } from './request-of.ts';
import { stageViews } from './views.ts';

let opened: OpenConsole;

beforeAll(async () => {
  opened = await openConsole();
  await stageViews(opened);
  await signIn(opened);
});
afterAll(() => opened.close());

describe('an operator at the console', () => {
  it.each(actions)('$promise', async ({ actions, walk }) => {
    const before = opened.visit.changes.length;
    await walk(opened);
    const sent = opened.visit.changes.slice(before);
    for (const action of actions) expect(sent).toContainEqual(expect.stringMatching(requestOf(action)));
  });

  it('walks every action that changes something, or says why it is not in the console', () => {
    const changing = allActions().filter(({ action: { route } }) => !('local' in route) && route.method !== 'GET');
    const absent = notInTheConsole();
    const expected = changing.map(({ name }) => name).filter((name) => absent[name] === undefined);
    const walked = [...actions, ...everydayWalks].flatMap(({ actions }) => actions);
    expect([...new Set(walked)].sort()).toEqual(expected.sort());
  });

  it('is flawless in every picture, answer and script on the way', () => expectFlawless(opened.visit));
});
