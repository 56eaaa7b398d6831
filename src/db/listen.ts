import pg from 'pg';
import { asLibpqUrl } from './libpq-url.ts';

export interface ChangeListener {
  /**
   * Whether every change until at most `currentMs` ago has been reported. False while the connection is lost or does not answer, and
   * behind a pooler.
   */
  isCurrent(): boolean;
  close(): Promise<void>;
}

interface ListenOptions {
  /** The URL of a direct connection, because a transaction pooler loses notifications. */
  url: string;
  logger: { warn: (about: object, sentence: string) => void };
  /**
   * Called with the changed table, or `*` if every table may have changed. For `task` with the ids of the ended tasks whose answer
   * changed, and for `ended` with those of the tasks that ended; without ids all of them may have.
   */
  onChange: (table: string, ids: readonly string[]) => void;
}

const retryMs = 2_000;
/** How often PostgreSQL is asked on the listening connection. */
const beatMs = 1_000;
/** A beat that is a second late is forgiven, as on a busy machine. */
const currentMs = 2_500;

/**
 * Listens for changes of the catalog, channels, keys, projects and silences, and of ended tasks. Reconnects after a loss. While it is
 * disconnected, `isCurrent` is false and caches refresh only by time.
 *
 * PostgreSQL sends notifications before the answer to the next statement of their connection. So the answer to a beat proves that no
 * notification before it was lost, also where a network drops a connection without an error.
 */
export function listenForChanges({ url, logger, onChange }: ListenOptions): ChangeListener {
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  /** When the last answered beat was sent, by `performance.now()`. */
  let provenAt = -Infinity;

  const again = (error?: Error) => {
    if (closed || timer) return;
    if (error)
      logger.warn(
        { err: error },
        'the listener for changes lost its connection; caches refresh only by time until it reconnects',
      );
    provenAt = -Infinity;
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
      connectionString: asLibpqUrl(url),
      keepAlive: true,
      connectionTimeoutMillis: 3_000,
      query_timeout: 3_000,
      application_name: 'tollgate-listen',
    });
    client = next;
    next.on('error', again);
    next.on('end', () => again());
    next.on('notification', ({ payload }) => {
      const [table = '*', ...ids] = (payload ?? '*').split(' ');
      onChange(table, ids);
    });
    try {
      await next.connect();
      await next.query('listen tollgate_change');
      const isDirect = await isDirectConnection(next);
      if (!isDirect) logger.warn({}, behindPooler);
      for (const table of ['model', 'channel', 'api_key', 'alarm_silence', 'task', 'ended']) onChange(table, []);
      while (isDirect && client === next && !closed) {
        const sentAt = performance.now();
        await next.query('select');
        if (client === next) provenAt = sentAt;
        await beat();
      }
    } catch (error) {
      if (client === next) again(error instanceof Error ? error : new Error(String(error)));
    }
  };
  void listen();

  return {
    isCurrent: () => performance.now() - provenAt < currentMs,
    async close() {
      closed = true;
      provenAt = -Infinity;
      if (timer) clearTimeout(timer);
      await client?.end().catch(() => undefined);
    },
  };
}

/** Keeps no process alive. */
const beat = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, beatMs).unref());

const behindPooler =
  'the listener for changes is not connected directly to PostgreSQL, and a pooler may lose notifications: caches refresh only by time. Set DATABASE_LISTEN_URL';

/** A pooler gives its clients process ids of its own, because it lends them the sessions of others. */
async function isDirectConnection(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return 'processID' in client && rows[0]?.pid === client.processID;
}
