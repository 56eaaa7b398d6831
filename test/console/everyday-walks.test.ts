import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { countClicks, type Effort } from './count-clicks.ts';
import { everydayWalks } from './everyday-walks.ts';
import { expectFlawless, openConsole, type OpenConsole } from './open-console.ts';
import { requestOf } from './request-of.ts';

let opened: OpenConsole;
const efforts: Record<string, Effort> = {};

beforeAll(async () => {
  opened = await openConsole();
});
// The address of the console is the only one that a person types. The browser is not signed in before the first walk.
beforeEach(() => opened.visit.open('/overview'));
afterAll(async () => {
  const lines = Object.entries(efforts).map(
    ([walk, { clicks, fields }]) => `${clicks} clicks, ${fields} fields: ${walk}`,
  );
  process.stdout.write(`${lines.join('\n')}\n`);
  await opened.close();
});

describe('an everyday job', () => {
  it.each(everydayWalks)('is done within $clicksMax clicks, without a typed address: $promise', async (walk) => {
    const { visit } = opened;
    const check = await walk.prepare?.(opened);
    const before = visit.changes.length;
    const effort = await countClicks(visit.page, () => walk.walk(opened));
    efforts[walk.promise] = effort;
    const sent = visit.changes.slice(before);
    for (const action of walk.actions) expect(sent).toContainEqual(expect.stringMatching(requestOf(action)));
    await check?.();
    expect(effort.clicks).toBeLessThanOrEqual(walk.clicksMax);
  });

  it('is flawless in every picture, answer and script on the way', () => expectFlawless(opened.visit));
});
