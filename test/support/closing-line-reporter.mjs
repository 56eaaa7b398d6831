/** Ends the output of a run with one line alone, `N passed, N failed`, that people and scripts read. */
export default class ClosingLineReporter {
  constructor(globalConfig) {
    this.watching = globalConfig.watch || globalConfig.watchAll;
  }

  onRunComplete(_contexts, results) {
    // A suite that did not even load has no failed tests, and is a failure all the same.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    const line = `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
    if (this.watching) return void process.stdout.write(`${line}\n`);
    // At exit, because the teardown and Jest itself may still have something to say.
    process.on('exit', () => process.stdout.write(`${line}\n`));
    const success = results.success && failed === 0;
    // A handle that somebody forgot must not keep a finished run from ending.
    setTimeout(() => process.exit(success ? 0 : 1), endSecondsMax * 1_000).unref();
  }
}

const endSecondsMax = 60;
