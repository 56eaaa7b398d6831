import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

/**
 * The environment of test files whose modules Node loads (`native-runner.mjs`): the process itself, without a context of its own. After
 * each file it restores what Jest and the file have changed in the process.
 */
export default class NativeEnvironment {
  constructor({ projectConfig }) {
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.globals = Object.getOwnPropertyDescriptors(globalThis);
    this.env = { ...process.env };
    this.exit = process.exit;
    this.getBuiltinModule = process.getBuiltinModule;
  }

  async setup() {
    // Jest's runtime has replaced it to load builtin modules in a context.
    process.getBuiltinModule = this.getBuiltinModule;
    // Jest shortens paths in stack traces, but not the URLs by which Node knows its modules.
    const format = Error.prepareStackTrace;
    Error.prepareStackTrace = (error, frames) => format(error, frames).replace(moduleUrl, '$1');
  }

  async teardown() {
    this.fakeTimersModern.dispose();
    Object.defineProperties(globalThis, this.globals);
    process.exit = this.exit;
    for (const name of Object.keys(process.env)) if (!(name in this.env)) delete process.env[name];
    Object.assign(process.env, this.env);
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return null;
  }
}

const moduleUrl = /file:\/\/([^?:\s]+)(?:\?run=\d+)?(?=:\d)/g;
