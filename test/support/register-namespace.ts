import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { scheduledJobNames, scheduleIdOf, type ScheduledJobName } from '../../src/domain/tasks/scheduled-job.ts';
import { searchAttributes } from '../../src/domain/tasks/workflow-contract.ts';

/**
 * Registers a namespace with our search attributes and returns its name. Task queues have fixed names, so two test files need two
 * namespaces. Resolves once a workflow can be started in the namespace.
 */
export async function registerNamespace(connection: Connection): Promise<string> {
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  await connection.withDeadline(Date.now() + readyMs, () =>
    connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs('1 day') }),
  );
  await eventually(() =>
    connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(Object.values(searchAttributes).map((name) => [name, keywordType])),
    }),
  );
  await eventually(() => startAndForget(new Client({ connection, namespace })));
  return namespace;
}

/** Deletes the Schedules of a namespace, which would keep starting jobs on the server that the test files share. */
export async function endSchedules(connection: Connection, namespace: string): Promise<void> {
  const client = new Client({ connection, namespace });
  const end = (name: ScheduledJobName) => client.schedule.getHandle(scheduleIdOf(name)).delete();
  await client.withDeadline(Date.now() + 2_000, () => Promise.allSettled(scheduledJobNames.map(end)));
}

export interface OpenedNamespace {
  connection: Connection;
  client: Client;
}

export async function openNamespace(address: string, namespace: string): Promise<OpenedNamespace> {
  const connection = await connectToTemporal(address);
  return { connection, client: new Client({ connection, namespace }) };
}

export const connectToTemporal = (address: string): Promise<Connection> =>
  Connection.connect({ address, connectTimeout: 120_000 });

const readyMs = 120_000;
const keywordType = 2;

/** Retries, because the server knows a namespace and its attributes only shortly after it has accepted them. */
async function eventually(work: () => Promise<unknown>): Promise<void> {
  const until = Date.now() + readyMs;
  for (;;) {
    const isLast = Date.now() > until;
    try {
      await work();
      return;
    } catch (error) {
      if (isLast) throw error;
    }
    await sleep(100);
  }
}

/** Starts a workflow with each attribute, on a queue without a worker, to check that the namespace is ready. */
async function startAndForget(client: Client): Promise<void> {
  const handle = await client.workflow.start('probe', {
    workflowId: `probe-${randomBytes(4).toString('hex')}`,
    taskQueue: 'nobody',
    typedSearchAttributes: new TypedSearchAttributes(
      Object.values(searchAttributes).map((name) => ({
        key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
        value: 'probe',
      })),
    ),
  });
  await handle.terminate();
}
