import { Option, type Command } from 'commander';
import type { ListedCommand, ListedEntry, ListedInput } from '../../admin/command-list.ts';
import type { Invocation } from './invocation.ts';

/** Adds a command, or a group of commands, to its parent. The last of `words` is its name, and the others those of its parents. */
export function addEntry(parent: Command, words: readonly string[], entry: ListedEntry, invocation: Invocation): void {
  if (!('entries' in entry)) return addCommand(parent, words, entry, invocation);
  const added = parent.command(words.at(-1) ?? '').description(entry.description);
  for (const [name, inner] of Object.entries(entry.entries)) addEntry(added, [...words, name], inner, invocation);
}

/** One command, with `--json` and `--help`. Its action is loaded when it runs. */
function addCommand(parent: Command, words: readonly string[], listed: ListedCommand, invocation: Invocation): void {
  const added = parent.command(words.at(-1) ?? '').description(listed.summary);
  for (const [name, input] of Object.entries(listed.inputs)) declare(added, name, input);
  added.option('--json', 'print one JSON document and nothing else');
  added.option('--actor <name>', 'name in the audit log (default: the name of the user)');
  added.option('--server <url>', 'run over the admin API of this server, with the token in TOLLGATE_ADMIN_TOKEN');
  added.action(async () => (await import('./run-command.ts')).runCommand(added, words, invocation));
}

function declare(command: Command, name: string, input: ListedInput): void {
  const { description, mayBeAbsent, placeholder, choices } = input;
  if (placeholder === undefined) {
    command.argument(mayBeAbsent ? `[${name}]` : `<${name}>`, description);
    return;
  }
  const long = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const added = new Option(`${long} ${placeholder}`.trim(), description).makeOptionMandatory(!mayBeAbsent);
  if (choices) added.choices(choices);
  command.addOption(added);
}
