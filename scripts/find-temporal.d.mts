type Environment = Record<string, string | undefined>;
export function findTemporal(options?: {
  env?: Environment;
}): { path: string; version: string; source: 'PATH' | 'cache' } | null;
export const temporalRelease: { version: string; sha256: Record<string, string | undefined> };
export const temporalSource: { version: string; module: string };
export function checkTemporal(path: string): { path: string; version: string } | { path: string; problem: string };
export function cachedTemporal(env: Environment, version?: string): string;
export function cacheFolder(env: Environment): string;
