import { workflowBundle } from './workflow-bundle.ts';

/** For the build of an image: bundles the workflows into the cache files, for workers without and with traces. Fails if it cannot. */
for (const traced of [false, true]) {
  const { code } = await workflowBundle({ traced, mustRemember: true });
  process.stdout.write(`${JSON.stringify({ traced, bundled_bytes: Buffer.byteLength(code) })}\n`);
}
