import { startGateway, type Gateway } from '../test/support/gateway.ts';
import { addChatChannel } from './chat-load.ts';
import { profiled } from './profiled.ts';
import { say } from './report.ts';
import { startBenchServers, type BenchServers } from './servers.ts';
import { startPart, type Part } from './start-part.ts';

/** The programs that a benchmark of chats compares, and the servers of the gateway. */
export interface ChatBench {
  servers: BenchServers;
  /** The provider of the other two. */
  upstream: Part;
  /** The bare Koa proxy. */
  proxy: Part;
  gateway: Gateway;
  close: () => Promise<void>;
}

/** Names a program of `bench/bare` and its arguments; those of the proxy follow the URL of the upstream. */
interface ChatBenchParts {
  upstream: [name: string, ...args: string[]];
  proxyArgs?: string[];
  apiProcesses?: string;
  /** Further environment of the gateway. */
  env?: Record<string, string>;
  postgresSettings?: Record<string, string>;
}

/** Starts them. The upstream is the only channel of the gateway that is enabled. */
export async function startChatBench({
  upstream: [name, ...args],
  proxyArgs = [],
  apiProcesses = '1',
  env = profiled,
  postgresSettings = {},
}: ChatBenchParts): Promise<ChatBench> {
  const servers = await startBenchServers({ postgresSettings });
  const upstream = await startPart(name, args);
  const proxy = await startPart('proxy', [upstream.url, ...proxyArgs]);
  const gateway = await startGateway({
    sandbox: false,
    workers: 0,
    env: { LOG_LEVEL: 'info', API_PROCESSES: apiProcesses, ...env },
  });
  const close = async (): Promise<void> => {
    await gateway.stop();
    await proxy.stop();
    await upstream.stop();
    await servers.close();
  };
  try {
    await gateway.database.query('bench-channels-off', 'update channel set enabled = false');
    await addChatChannel(gateway, upstream);
  } catch (error) {
    await close();
    throw error;
  }
  return { servers, upstream, proxy, gateway, close };
}

/** Prints whether the ledger is consistent, and what else `facts` says. A breach fails the run. */
export async function sayBooks(gateway: Gateway, facts: string): Promise<void> {
  const books = await gateway.verifyLedger();
  say(`\nledger: ${books.ok ? 'no breach' : JSON.stringify(books.invariants)}${facts}`);
  if (!books.ok) process.exitCode = 1;
}
