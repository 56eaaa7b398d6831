import type { Adapters } from './channels/registry.ts';
import type { CatalogCache } from './commands/catalog-cache.ts';
import type { ChannelCache } from './commands/channel-cache.ts';
import type { KeyCache } from './commands/key-cache.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import type { ChatLedger } from './db/chat-ledger.ts';
import type { Ledger } from './db/ledger.ts';
import type { ByteRoom } from './platform/byte-room.ts';
import type { Egress } from './platform/egress.ts';
import type { FileStore } from './platform/file-store.ts';
import type { Logger } from './platform/logger.ts';
import type { Metrics } from './platform/metrics.ts';
import type { Sealer } from './platform/seal.ts';
import type { UrlSigner } from './platform/signed-url.ts';
import type { WorkflowClient } from './platform/workflow-client.ts';

/** Everything that is built once in `main` and handed on; a function asks for the `Pick` that it uses. */
export interface Deps {
  config: Config;
  logger: Logger;
  db: Database;
  ledger: Ledger;
  chatLedger: ChatLedger;
  catalog: CatalogCache;
  channels: ChannelCache;
  keys: KeyCache;
  adapters: Adapters;
  egress: Egress;
  files: FileStore;
  /** For the bytes of inputs on their way upstream. */
  inputRoom: ByteRoom;
  urls: UrlSigner;
  sealer: Sealer;
  metrics: Metrics;
  workflows: WorkflowClient;
}
