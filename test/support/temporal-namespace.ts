import type { Client, Connection } from '@temporalio/client';
import type { OpenedNamespace } from './register-namespace.ts';
import { askRunHelper } from './run-helper-client.ts';
import { testServer } from './test-server.ts';

export interface TemporalNamespace {
  address: string;
  namespace: string;
  /** Both throw in a namespace that was created without a client. */
  connection: Connection;
  client: Client;
  close(): Promise<void>;
}

/**
 * Creates a namespace on the server of TEST_TEMPORAL_ADDRESS, with our search attributes. Resolves once a workflow can be started in
 * it. The client is opened only on request, because a process takes half a second of CPU time to load its packages.
 */
export async function createTemporalNamespace({ withClient = false } = {}): Promise<TemporalNamespace> {
  const address = testServer('TEST_TEMPORAL_ADDRESS');
  const namespace = await askRunHelper('createNamespace', { address });
  const opened = withClient ? await (await import('./register-namespace.ts')).openNamespace(address, namespace) : null;
  const required = (): OpenedNamespace => {
    if (!opened) throw new Error('This namespace was created without a client.');
    return opened;
  };
  return {
    address,
    namespace,
    get connection() {
      return required().connection;
    },
    get client() {
      return required().client;
    },
    async close() {
      await askRunHelper('endSchedules', { address, namespace });
      await opened?.connection.close();
    },
  };
}
