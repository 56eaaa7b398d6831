/** Tells the requests of this process that follow something when it may have changed. */
export interface Watch {
  /** Calls `changed` after each change of what has this id, until the returned function is called. It may also be called without a change. */
  follow(id: string, changed: () => void): () => void;
  /** What has these ids has changed; without ids all of it may have. */
  announce(ids: readonly string[]): void;
  close(): void;
}

interface WatchOptions {
  /** The present versions of what has these ids, in one statement. */
  readVersions: (ids: readonly string[]) => Promise<{ id: string; version: string }[]>;
  logger: { warn: (about: object, sentence: string) => void };
  /** Logged if the versions could not be read. */
  failure: string;
  beatMs?: number;
}

interface Followed {
  followers: Set<() => void>;
  /** As it was last read. */
  version: string | null;
}

/** Every `beatMs`, one statement reads the versions of all that is followed, however many requests follow it, and finds the changes. */
export function createWatch({ readVersions, logger, failure, beatMs = 1_000 }: WatchOptions): Watch {
  const followed = new Map<string, Followed>();
  let isReading = false;

  const beat = async (): Promise<void> => {
    if (isReading || followed.size === 0) return;
    isReading = true;
    try {
      for (const { id, version } of await readVersions([...followed.keys()])) {
        const one = followed.get(id);
        if (!one || one.version === version) continue;
        one.version = version;
        wake(one);
      }
    } catch (error) {
      logger.warn({ err: error, followed: followed.size }, failure);
    } finally {
      isReading = false;
    }
  };
  const timer = setInterval(() => void beat(), beatMs).unref();

  return {
    follow(id, changed) {
      const one = followed.get(id) ?? { followers: new Set(), version: null };
      followed.set(id, one);
      one.followers.add(changed);
      return () => {
        one.followers.delete(changed);
        if (one.followers.size === 0 && followed.get(id) === one) followed.delete(id);
      };
    },
    announce(ids) {
      for (const id of ids.length === 0 ? followed.keys() : ids) {
        const one = followed.get(id);
        if (one) wake(one);
      }
    },
    close: () => clearInterval(timer),
  };
}

const wake = ({ followers }: Followed): void => {
  for (const changed of followers) changed();
};

/** Yields now, and again after changes of what has this id, until `signal` fires. Changes that come while the caller is busy count as one. */
export async function* watchChanges(
  watch: Watch,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<void, void, undefined> {
  let isChanged = true;
  let woken = Promise.withResolvers<void>();
  const wakeUp = (): void => woken.resolve();
  const unfollow = watch.follow(id, () => {
    isChanged = true;
    wakeUp();
  });
  signal.addEventListener('abort', wakeUp, { once: true });
  try {
    while (!signal.aborted) {
      if (isChanged) {
        isChanged = false;
        yield;
      } else {
        await woken.promise;
        woken = Promise.withResolvers();
      }
    }
  } finally {
    signal.removeEventListener('abort', wakeUp);
    unfollow();
  }
}
