import { workflowBundle } from './workflow-bundle.ts';

/** For the build of an image: bundles the workflows into the cache file. Fails if it cannot. */
const { code } = await workflowBundle({ mustRemember: true });
process.stdout.write(`${JSON.stringify({ bundled_bytes: Buffer.byteLength(code) })}\n`);
