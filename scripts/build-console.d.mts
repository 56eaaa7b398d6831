/** Builds the console into console/dist, unless it was built from the same sources and packages. */
export function buildConsole(): Promise<void>;
