/** Runs `work` while no other process does the same. The lock is a directory that this function makes and removes. */
export function withLock<T>(folder: string, work: () => Promise<T>): Promise<T>;
