import { readFileSync } from 'node:fs';

/** A group of commands, or one command, as the help shows it. */
export type ListedEntry = ListedCommand | { description: string; entries: Readonly<Record<string, ListedEntry>> };

/** A command of an action. */
export interface ListedCommand {
  summary: string;
  /** By their names, in the order of the action. */
  inputs: Readonly<Record<string, ListedInput>>;
}

export interface ListedInput {
  description: string;
  mayBeAbsent: boolean;
  /** Of an option; a positional argument has none. */
  placeholder?: string;
  choices?: string[];
}

/**
 * Every command in the order of the help. `npm run docs:api` writes the file from the actions. The command line is made from it, because loading
 * the schemas of the actions takes three times as long as everything else that the help needs.
 */
export const commandList = JSON.parse(readFileSync(new URL('command-list.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, ListedEntry>
>;
