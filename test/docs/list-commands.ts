import { z } from 'zod';
import type { ListedEntry, ListedInput } from '../../src/admin/command-list.ts';
import { placeholderOf, type Action, type ActionGroup } from '../../src/admin/define-action.ts';
import { actionTable } from '../../src/admin/table.ts';

/** The commands of all actions, as `src/admin/command-list.json` has them. */
export const listCommands = (): Record<string, ListedEntry> => mapValues(actionTable, listEntry);

function listEntry(entry: Action | ActionGroup): ListedEntry {
  if ('entries' in entry) return { description: entry.description, entries: mapValues(entry.entries(), listEntry) };
  return { summary: entry.summary, inputs: mapValues(entry.input, listInput) };
}

function listInput(schema: z.ZodType): ListedInput {
  const placeholder = placeholderOf(schema);
  const value = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  return {
    description: schema.description ?? '',
    mayBeAbsent: z.object({ value: schema }).safeParse({}).success,
    ...(placeholder !== undefined && { placeholder }),
    ...(placeholder !== undefined && value instanceof z.ZodEnum && { choices: value.options.map(String) }),
  };
}

const mapValues = <In, Out>(record: Readonly<Record<string, In>>, map: (value: In) => Out): Record<string, Out> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
