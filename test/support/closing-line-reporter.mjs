import { findMariadb } from './mariadb.ts';

/** Prints `N passed, N failed` as the last line of a run, for people and scripts, and before it what the MySQL reader ran against. */
export default class ClosingLineReporter {
  constructor(globalConfig) {
    this.watching = globalConfig.watch || globalConfig.watchAll;
  }

  onRunComplete(_contexts, results) {
    // A test file that cannot be loaded has no failed tests, but counts as a failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    const hasMysql = results.testResults.some(({ testFilePath }) => testFilePath.endsWith('import-mysql.test.ts'));
    const above = hasMysql ? `${mysqlLine()}\n` : '';
    const line = `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
    if (this.watching) return void process.stdout.write(`${line}\n`);
    // At exit, because the teardown and Jest itself may still print something.
    process.on('exit', () => process.stdout.write(`${above}${line}\n`));
    const success = results.success && failed === 0;
    // An open handle must not keep a finished run alive.
    setTimeout(() => process.exit(success ? 0 : 1), endSecondsMax * 1_000).unref();
  }
}

function mysqlLine() {
  const found = findMariadb();
  return found
    ? `The MySQL reader ran against a server, MariaDB ${found.version}.`
    : 'The MySQL reader ran against recorded dumps: neither MARIADBD nor the PATH has a server.';
}

const endSecondsMax = 60;
