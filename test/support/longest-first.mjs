import { readFileSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

/**
 * Runs the longest test files first, so that no long file runs alone at the end. Jest remembers how long each file took. In a
 * fresh clone the durations are estimated by folder, and by whether the file starts a gateway.
 */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    return super
      .sort(tests)
      .map((test) => ({ test, ms: test.duration ?? expectedMs(test.path) }))
      .sort((a, b) => b.ms - a.ms)
      .map(({ test }) => test);
  }
}

const expectedMs = (path) =>
  Math.max(expected.find(([pattern]) => pattern.test(path))?.[1] ?? 1_000, startsGateway(path) ? gatewayMs : 0);

const gatewayMs = 20_000;
const startsGateway = (path) => readFileSync(path, 'utf8').includes('startGateway(');

const expected = [
  // Browsers: not all of them at the same time.
  [/\/test\/console\/(actions|lists)\./, 100_000],
  [/\/test\/console\/(dialogs|everyday-walks|playground)\./, 45_000],
  [
    /\/test\/(console|services\/(chat\/slow-readers|scheduled-jobs|tasks\/end\/cancel-task)|faults\/failing|dialects\/matrix)/,
    90_000,
  ],
  [/\/test\/(sdk|faults|fairness|main\/cli\/cli|main\/dev|services\/tasks)/, 40_000],
  [/\/test\/(journeys|main|deploy|dialects)\//, 20_000],
  [/\/test\/(services|http\/routes|http\/admin|workflows)\//, 10_000],
  [/\/test\/db\//, 5_000],
];
