/** Builds the console into console/dist, unless it was built from the same sources and packages. */
export function buildConsole(): Promise<void>;
/** A hash of everything that decides what Vite writes in this project folder. */
export function sourcesHash(root: string): string;
