import pg from 'pg';

export interface ChangeListener {
  close(): Promise<void>;
}

interface ListenOptions {
  /** The URL of a direct connection, because a transaction pooler loses notifications. */
  url: string;
  logger: { warn: (about: object, sentence: string) => void };
  /** Called with the changed table, or `*` if every table may have changed. */
  onChange: (table: string) => void;
}

const retryMs = 2_000;

/**
 * Listens for changes of the catalog, channels, keys and projects, and reconnects after a loss. While it is disconnected, caches
 * refresh only by time.
 */
export function listenForChanges({ url, logger, onChange }: ListenOptions): ChangeListener {
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;

  const again = (error?: Error) => {
    if (closed || timer) return;
    if (error)
      logger.warn(
        { err: error },
        'the listener for changes lost its connection; caches refresh only by time until it reconnects',
      );
    client?.removeAllListeners();
    client?.on('error', () => undefined);
    void client?.end().catch(() => undefined);
    client = null;
    timer = setTimeout(() => {
      timer = null;
      void listen();
    }, retryMs);
  };

  const listen = async (): Promise<void> => {
    const next = new pg.Client({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: 3_000,
      application_name: 'tollgate-listen',
    });
    client = next;
    next.on('error', again);
    next.on('end', () => again());
    next.on('notification', ({ payload }) => onChange(payload ?? '*'));
    try {
      await next.connect();
      await next.query('listen tollgate_change');
      for (const table of ['model', 'channel', 'api_key']) onChange(table);
    } catch (error) {
      again(error instanceof Error ? error : new Error(String(error)));
    }
  };
  void listen();

  return {
    async close() {
      closed = true;
      if (timer) clearTimeout(timer);
      await client?.end().catch(() => undefined);
    },
  };
}
