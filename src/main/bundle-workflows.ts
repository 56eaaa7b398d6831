import { workflowBundle } from './workflow-bundle.ts';

/** For the build of an image: bundles the workflows and keeps the bundle beside the packages. Fails where it cannot. */
const { code } = await workflowBundle({ mustRemember: true });
process.stdout.write(`${JSON.stringify({ bundled_bytes: Buffer.byteLength(code) })}\n`);
