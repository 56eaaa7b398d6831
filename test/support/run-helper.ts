import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Connection } from '@temporalio/client';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { patiently } from './database.ts';
import { createOperator, type KeyOptions, type Operator, type TestProject } from './operator.ts';
import { connectToTemporal, endSchedules, registerNamespace } from './register-namespace.ts';

/** The gateway that an operator's work is for. */
interface Target {
  databaseUrl: string;
  env: Record<string, string>;
}

/** What the helper does: the parameter and the result of each task. */
export interface HelperTasks {
  createNamespace: (input: { address: string }) => Promise<string>;
  endSchedules: (input: { address: string; namespace: string }) => Promise<null>;
  prepare: (input: Target) => Promise<null>;
  project: (input: Target & { options?: KeyOptions & { credits?: number } }) => Promise<TestProject>;
  key: (input: Target & { projectId: string; options?: KeyOptions }) => Promise<{ keyId: string; apiKey: string }>;
  addCredits: (input: Target & { projectId: string; amount: number }) => Promise<null>;
  /** Closes the connections to a database that will be dropped. */
  leave: (input: { databaseUrl: string }) => Promise<null>;
}

export interface RunHelper {
  tasks: HelperTasks;
  close(): Promise<void>;
}

/**
 * Does the work that needs Temporal's client or MikroORM. Each process of Jest would load these packages and open connections of its
 * own, so a run does this work in one process for all of its files.
 */
export function createRunHelper(): RunHelper {
  const connections = new Map<string, Promise<Connection>>();
  const operators = new Map<string, { database: Database; operator: Operator & { prepare(): Promise<void> } }>();
  const temporal = (address: string): Promise<Connection> => {
    const connection = connections.get(address) ?? connectToTemporal(address);
    connections.set(address, connection);
    return connection;
  };
  const operatorAt = ({ databaseUrl, env }: Target) => {
    const existing = operators.get(databaseUrl);
    if (existing) return existing.operator;
    const database = openDatabase({
      url: patiently(databaseUrl, 60_000),
      poolMax: 2,
      connectTimeoutMs: 60_000,
      statementTimeoutMs: 60_000,
    });
    const operator = createOperator(database, env);
    operators.set(databaseUrl, { database, operator });
    return operator;
  };
  const leave = async (databaseUrl: string): Promise<null> => {
    const existing = operators.get(databaseUrl);
    operators.delete(databaseUrl);
    await existing?.database.close();
    return null;
  };
  return {
    tasks: {
      createNamespace: async ({ address }) => registerNamespace(await temporal(address)),
      endSchedules: async ({ address, namespace }) => endSchedules(await temporal(address), namespace).then(() => null),
      prepare: (target) =>
        operatorAt(target)
          .prepare()
          .then(() => null),
      project: (target) => operatorAt(target).project(target.options),
      key: (target) => operatorAt(target).key(target.projectId, target.options),
      addCredits: (target) =>
        operatorAt(target)
          .addCredits(target.projectId, target.amount)
          .then(() => null),
      leave: ({ databaseUrl }) => leave(databaseUrl),
    },
    async close() {
      await Promise.allSettled([...operators.keys()].map(leave));
      for (const connection of connections.values()) await (await connection).close();
    },
  };
}

/** Serves the tasks of a helper on loopback, for the processes of the run. */
export async function serveRunHelper(): Promise<{ url: string; close(): Promise<void> }> {
  const helper = createRunHelper();
  const tasks = new Map<string, (input: never) => Promise<unknown>>(Object.entries(helper.tasks));
  const answer = async (request: IncomingMessage): Promise<unknown> => {
    const task = tasks.get(request.url?.slice(1) ?? '');
    if (!task) throw new Error(`The helper of the run does not know ${request.url}`);
    return task((await json(request)) as never);
  };
  // A process that blocks its event loop for longer than this would ask on a connection that is closed.
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    answer(request).then(
      (value) => response.end(JSON.stringify(value)),
      (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.stack : String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The helper of the run has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await helper.close();
    },
  };
}
