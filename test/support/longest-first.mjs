import Sequencer from '@jest/test-sequencer';

/**
 * Runs the longest test files first, so that no long file runs alone at the end. Jest remembers how long each file took. In a
 * fresh clone the durations are estimated by folder.
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

const expectedMs = (path) => expected.find(([pattern]) => pattern.test(path))?.[1] ?? 1_000;

const expected = [
  [/\/test\/(commands\/tasks\/cancel-task|commands\/jobs\/schedules|console)/, 60_000],
  [/\/test\/(faults|fairness)\//, 40_000],
  [/\/test\/(journeys|main|deploy)\//, 20_000],
  [/\/test\/(commands|http\/routes|sdk|workflows)\//, 10_000],
  [/\/test\/db\//, 5_000],
];
