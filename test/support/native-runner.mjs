import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import circus from 'jest-circus/runner';

/**
 * Runs a test file with Jest's own framework, but Node loads its modules instead of Jest. Jest loads every module again for each test
 * file, which takes half a second of CPU time. Node keeps `src` and the packages for the next file of the same process. The modules of
 * `test` are loaded again for each file, because they may have state. `undocumented.ts` has none, and its document takes long to prepare.
 */
export default async function runTestFile(globalConfig, config, environment, runtime, testPath, sendMessageToJest) {
  run += 1;
  // While Jest watches the files, `src` may have changed since the last run.
  loadedAgain = globalConfig.watch || globalConfig.watchAll ? [tests, source] : [tests];
  globalsOfRun = () => runtime.requireModuleOrMock(testPath, '@jest/globals');
  runtime.requireInternalModule = requireAgain;
  runtime.unstable_shouldLoadAsEsm = () => true;
  runtime.unstable_importModule = (path) => import(`${pathToFileURL(path).href}?run=${run}`);
  return circus.default(globalConfig, config, environment, runtime, testPath, sendMessageToJest);
}

/** What `@jest/globals` exports to the test file that runs. */
export const jestGlobals = () => globalsOfRun();

const globalsModule = new URL('jest-globals.mjs', import.meta.url).href;
const tests = new URL('../', import.meta.url).href;
const source = new URL('../../src/', import.meta.url).href;
const stateless = new URL('undocumented.ts', import.meta.url).href;

let run = 0;
let loadedAgain = [tests];
let globalsOfRun;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const found = nextResolve(specifier === '@jest/globals' ? globalsModule : specifier, context);
    return isLoadedAgain(found.url) ? { ...found, url: `${found.url}?run=${run}` } : found;
  },
});

const isLoadedAgain = (url) =>
  url === globalsModule ||
  (url.endsWith('.ts') && url !== stateless && loadedAgain.some((folder) => url.startsWith(folder)));

const require = createRequire(import.meta.url);

/** The framework keeps the tests of a file in its modules and on the global object. */
function requireAgain(path) {
  for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
    if (['JEST_STATE_SYMBOL', 'EVENT_HANDLERS'].includes(symbol.description)) delete globalThis[symbol];
  }
  delete require.cache[path];
  return require(path);
}
