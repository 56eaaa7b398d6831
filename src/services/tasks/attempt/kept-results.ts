import { listKeptResults, type KeptResult } from '../../../db/tasks/adopt-result.ts';
import type { Deps } from '../../../deps.ts';
import type { UpstreamOutput } from '../../../domain/channels/upstream.ts';
import { SealError } from '../../../platform/crypto/seal.ts';

/**
 * Seals the addresses of results that could not become the output of their task. The provider bills them, so an operator may still save them
 * (`tasks adopt`). They are kept as long as the task's content. Null for results that have no address.
 */
export function sealResults(
  { sealer }: Pick<Deps, 'sealer'>,
  attemptId: string,
  results: readonly UpstreamOutput[],
): string | null {
  const urls = results.map(({ url }) => url).filter((url) => !url.startsWith('data:'));
  return urls.length === 0 ? null : sealer.seal(JSON.stringify(urls.slice(0, URLS_MAX)), contextOf(attemptId));
}

export interface KeptAddress {
  /** The number of the attempt. */
  attempt: number;
  /** Null if no configured key unseals it. */
  url: string | null;
}

/** The addresses that the providers gave for a task's unused results, the latest attempt first. */
export async function readKeptResults(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  taskId: string,
): Promise<KeptAddress[]> {
  const kept = await listKeptResults(db, taskId);
  return kept.flatMap((row) => urlsOf(sealer, row).map((url) => ({ attempt: row.n, url })));
}

function urlsOf(sealer: Deps['sealer'], { attemptId, result }: KeptResult): (string | null)[] {
  if (typeof result !== 'string') return result.map(({ url }) => url);
  try {
    return JSON.parse(sealer.open(result, contextOf(attemptId))) as string[];
  } catch (error) {
    if (error instanceof SealError) return [null];
    throw error;
  }
}

const URLS_MAX = 16;

const contextOf = (attemptId: string) => `attempt|result|${attemptId}` as const;
