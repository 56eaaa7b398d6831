import { CommanderError } from 'commander';
import type { CatalogProblem } from '../../commands/check-catalog-entry.ts';
import { CatalogError } from '../../commands/load-catalog.ts';
import { ConfigError } from '../../config.ts';
import { UsageError } from './usage-error.ts';

export interface Explanation {
  message: string;
  exitCode: 1 | 2;
  /** Of a catalog: each thing that is wrong, for scripts. */
  problems?: readonly CatalogProblem[];
}

/** Any error in plain words for an operator, without a stack. */
export function explainError(error: unknown): Explanation {
  if (error instanceof CommanderError) return { message: usageMessage(error), exitCode: 2 };
  if (error instanceof UsageError || error instanceof ConfigError) return { message: error.message, exitCode: 2 };
  if (error instanceof CatalogError) return { message: error.message, exitCode: 1, problems: error.problems };
  return { message: plainMessage(error), exitCode: 1 };
}

function usageMessage(error: CommanderError): string {
  // Commander has shown the help to people by then.
  if (error.code === 'commander.help') return 'a command is missing; --help lists them';
  return error.message.replace(/^error: /, '');
}

function plainMessage(error: unknown): string {
  const { code, path } = facts(error);
  if (code === 'ENOENT' && path !== undefined) return `There is no file ${path}.`;
  if (code !== undefined && unreachable.has(code)) return `The database cannot be reached (${code}).`;
  const message = error instanceof Error ? error.message : String(error);
  return message === '' ? `Something failed${code === undefined ? '' : ` (${code})`}.` : message;
}

const unreachable = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH']);

function facts(error: unknown): { code?: string; path?: string } {
  if (typeof error !== 'object' || error === null) return {};
  return {
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    ...('path' in error && typeof error.path === 'string' && { path: error.path }),
  };
}
