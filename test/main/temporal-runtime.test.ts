import { createServer } from 'node:net';
import { once } from 'node:events';
import { Runtime } from '@temporalio/worker';
import { afterAll, expect, it } from '@jest/globals';
import { choosePort } from '../../src/main/processes/choose-port.ts';
import { installWithMetrics } from '../../src/main/temporal-workers.ts';

const other = createServer();
afterAll(async () => {
  other.close();
  await Runtime.instance().shutdown();
});

it('Temporal shows its metrics on another port if the chosen one was taken meanwhile', async () => {
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const address = other.address();
  const taken = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const choices = [taken, taken];
  const avoid = new Set<number>();
  const port = await installWithMetrics({ shutdownSignals: [] }, async () => choices.shift() ?? choosePort(0, avoid));
  expect([...avoid]).toContain(port);
  expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(200);
});
