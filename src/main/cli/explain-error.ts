import { CommanderError } from 'commander';
import type { CatalogProblem } from '../../services/catalog/check/findings.ts';
import { CatalogError } from '../../services/catalog/catalog-error.ts';
import { ConfigError } from '../../config/config-error.ts';
import { plainMessage } from '../../domain/plain-message.ts';
import { UsageError } from './usage-error.ts';

export interface Explanation {
  message: string;
  exitCode: 1 | 2;
  /** Each error of a catalog file, for scripts. */
  problems?: readonly CatalogProblem[];
}

/** The message of an error for an operator, without a stack. */
export function explainError(error: unknown): Explanation {
  if (error instanceof CommanderError) return { message: usageMessage(error), exitCode: 2 };
  if (error instanceof UsageError || error instanceof ConfigError) return { message: error.message, exitCode: 2 };
  if (error instanceof CatalogError) return { message: error.message, exitCode: 1, problems: error.problems };
  return { message: plainMessage(error), exitCode: 1 };
}

function usageMessage(error: CommanderError): string {
  // Commander has already printed the help.
  if (error.code === 'commander.help') return 'a command is missing; --help lists the commands';
  return error.message.replace(/^error: /, '');
}
