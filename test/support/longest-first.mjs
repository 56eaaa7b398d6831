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
  [/\/test\/(commands\/(chat\/slow-readers|jobs\/schedules|tasks\/cancel-task)|console|dialects|sdk)/, 60_000],
  [/\/test\/(commands\/requests-and-inputs|faults|fairness|journeys\/tasks-and-credits|spec\/client-api)/, 40_000],
  [/\/test\/(journeys|main|deploy)\//, 20_000],
  [/\/test\/(commands|http\/routes|http\/admin|workflows)\//, 10_000],
  [/\/test\/db\//, 5_000],
];
