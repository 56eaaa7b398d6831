import { bundleWorkflowCode, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';

/** The worker of the bare workflow: Tollgate's queues and settings with no-op activities. */
const [address = '', namespace = ''] = process.argv.slice(2);
const quiet = () => undefined;
const logger = { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet };
Runtime.install({ logger });
const workflowBundle = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)),
  logger,
});
const connection = await NativeConnection.connect({ address, grpcCompression: { codec: 'none' } });
const nothing = () => Promise.resolve(true);
const workers = await Promise.all([
  Worker.create({
    connection,
    namespace,
    taskQueue: 'tollgate-tasks',
    workflowBundle,
    activities: { step: nothing },
    maxConcurrentLocalActivityExecutions: 100,
    maxCachedWorkflows: 5_000,
  }),
  Worker.create({
    connection,
    namespace,
    taskQueue: 'tollgate-attempts',
    activities: { work: nothing },
    maxConcurrentActivityTaskExecutions: 2_000,
    maxHeartbeatThrottleInterval: '15 seconds',
  }),
  Worker.create({ connection, namespace, taskQueue: 'tollgate-deliveries', activities: { step: nothing } }),
]);
process.stdout.write('ready\n');
await Promise.all(workers.map((worker) => worker.run()));
