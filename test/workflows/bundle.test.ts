import { describe, expect, it } from '@jest/globals';
import { bundleWorkflowCode, type BundleOptions } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { workflowBundle } from '../../src/main/workflow-bundle.ts';

/** The bundler's complaints about a workflow, empty when it accepts the workflow. */
async function complaintsAbout(path: string): Promise<string> {
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const logger = { log: say, trace: say, debug: say, info: say, warn: say, error: say };
  const workflowsPath = fileURLToPath(new URL(path, import.meta.url));
  return bundleWorkflowCode({ workflowsPath, logger, webpackConfigHook: withoutPackages }).then(
    () => '',
    (error: unknown) => [String(error), ...said].join('\n'),
  );
}

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0];

/** Follows our own imports only: they are refused already, and bundling the packages of the activities takes many seconds. */
const withoutPackages = (config: WebpackConfig): WebpackConfig => ({
  ...config,
  externals: [
    ...[config.externals ?? []].flat(),
    ({ request = '', context = '' }, done) =>
      isPackage.test(request) && context.startsWith(sources) ? done(undefined, `commonjs ${request}`) : done(),
  ],
});
const isPackage = /^[@a-z][^:]*$/i;
const sources = fileURLToPath(new URL('../../src/', import.meta.url)).replace(/\/$/, '');

/** Webpack names each bundled module by its path. */
const modulesIn = (code: string): string[] => {
  const map = /sourceMappingURL=data:application\/json;[^,]*base64,([A-Za-z0-9+/=]+)/.exec(code)?.[1];
  if (!map) throw new Error('the bundle carries no source map to read its modules from');
  const parsed: unknown = JSON.parse(Buffer.from(map, 'base64').toString('utf8'));
  if (typeof parsed !== 'object' || parsed === null || !('sources' in parsed) || !Array.isArray(parsed.sources))
    return [];
  return parsed.sources.map(String);
};

describe('the workflow bundle', () => {
  it('holds the story and the rules of the domain, and of packages nothing but the SDK', async () => {
    const modules = modulesIn((await workflowBundle()).code);
    expect(modules.some((name) => name.includes('src/workflows/media-task.ts'))).toBe(true);
    const rooms = new Set(
      modules.map((name) => /\/src\/(\w+)\//.exec(name.replace(/.*node_modules.*/, ''))?.[1]).filter(Boolean),
    );
    expect([...rooms].sort()).toEqual(['domain', 'workflows']);
    const packages = new Set(
      modules.map((name) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1]).filter(Boolean),
    );
    expect([...packages].filter((name) => !sdk.has(name!))).toEqual([]);
  });

  it.each([
    ['the activities themselves', './fixtures/imports-activities.ts'],
    ["Node's own randomness", './fixtures/imports-node-core.ts'],
  ])('is refused when a workflow imports %s', async (_what, path) => {
    expect(await complaintsAbout(path)).toMatch(/Reading from "node:\w+|disallowed modules/);
  });
});

/** The SDK and what it brings into every workflow. */
const sdk = new Set([
  '@temporalio/common',
  '@temporalio/workflow',
  '@temporalio/worker',
  '@temporalio/proto',
  'nexus-rpc',
  'ms',
  'long',
]);
