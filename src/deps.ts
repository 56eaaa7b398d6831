import type { Adapters } from './adapters/registry.ts';
import type { CatalogCache } from './caches/catalog-cache.ts';
import type { ChannelCache } from './channels/channel-cache.ts';
import type { TaskAnswers } from './caches/task-answers.ts';
import type { Watch } from './caches/watch.ts';
import type { KeyCache } from './caches/key-cache.ts';
import type { SendSlots } from './platform/send-slots.ts';
import type { Config } from './config/load-config.ts';
import type { Database } from './db/database.ts';
import type { ChatLedger } from './db/chat/chat-ledger.ts';
import type { Ledger } from './db/ledger/ledger.ts';
import type { TaskReader } from './db/tasks/task-reader.ts';
import type { RateLimiter } from './db/projects/rate-limiter.ts';
import type { MemoryBudget } from './platform/memory-budget.ts';
import type { Egress } from './platform/egress/egress.ts';
import type { FileStore } from './platform/files/file-store.ts';
import type { Logger } from './platform/observe/logger.ts';
import type { Metrics } from './platform/observe/metrics.ts';
import type { Tracer } from './platform/observe/tracer.ts';
import type { Sealer } from './platform/crypto/seal.ts';
import type { UrlSigner } from './platform/crypto/signed-url.ts';
import type { PdfMeter } from './platform/pdf/pdf-meter.ts';
import type { TokenCounter } from './platform/tokens/token-counter.ts';
import type { WorkflowClient } from './platform/temporal/workflow-client.ts';

/** The dependencies that `main` builds once. A function takes the `Pick` of them that it uses. */
export interface Deps {
  config: Config;
  logger: Logger;
  db: Database;
  ledger: Ledger;
  chatLedger: ChatLedger;
  rateLimiter: RateLimiter;
  taskReader: TaskReader;
  taskAnswers: TaskAnswers;
  taskWatch: Watch;
  ledgerWatch: Watch;
  catalog: CatalogCache;
  channels: ChannelCache;
  keys: KeyCache;
  adapters: Adapters;
  egress: Egress;
  files: FileStore;
  /** Memory for the bytes of inputs that are sent upstream. */
  inputMemory: MemoryBudget;
  callbackSlots: SendSlots;
  urls: UrlSigner;
  sealer: Sealer;
  metrics: Metrics;
  tracer: Tracer;
  tokenCounter: TokenCounter;
  pdfMeter: PdfMeter;
  workflows: WorkflowClient;
}
