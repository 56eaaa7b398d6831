import { describe, expect, it } from '@jest/globals';
import { bundleWorkflowCode, type BundleOptions } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { workflowBundle } from '../../src/main/workflow-bundle.ts';

/** The bundler's complaints about a workflow, empty when it accepts the workflow. */
async function complaintsAbout(path: string): Promise<string> {
  const lines: string[] = [];
  const log = (message: string) => void lines.push(message);
  const logger = { log, trace: log, debug: log, info: log, warn: log, error: log };
  const workflowsPath = fileURLToPath(new URL(path, import.meta.url));
  return bundleWorkflowCode({ workflowsPath, logger, webpackConfigHook: withoutPackages }).then(
    () => '',
    (error: unknown) => [String(error), ...lines].join('\n'),
  );
}

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0];

/** Bundles our own imports only, which suffices for the refusal. Bundling the packages of the activities takes many seconds. */
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
  it('contains only the workflows, the domain and the SDK', async () => {
    const modules = modulesIn((await workflowBundle()).code);
    expect(modules.some((name) => name.includes('src/workflows/media-task.ts'))).toBe(true);
    const layers = new Set(
      modules.map((name) => /\/src\/(\w+)\//.exec(name.replace(/.*node_modules.*/, ''))?.[1]).filter(Boolean),
    );
    expect([...layers].sort()).toEqual(['domain', 'workflows']);
    const packages = new Set(
      modules.map((name) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1]).filter(Boolean),
    );
    expect([...packages].filter((name) => !sdk.has(name!))).toEqual([]);
  });

  it.each([
    ['the activities themselves', './fixtures/imports-activities.ts'],
    ['a core module of Node', './fixtures/imports-node-core.ts'],
  ])('is refused when a workflow imports %s', async (_what, path) => {
    expect(await complaintsAbout(path)).toMatch(/Reading from "node:\w+|disallowed modules/);
  });
});

/** The SDK's packages in every workflow bundle. */
const sdk = new Set([
  '@temporalio/common',
  '@temporalio/workflow',
  '@temporalio/worker',
  '@temporalio/proto',
  'nexus-rpc',
  'ms',
  'long',
]);
