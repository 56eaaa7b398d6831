import { Table } from '@mantine/core';
import { tokenClassTable, type TokenClass } from '../../../src/domain/catalog/token-classes.ts';
import type { Difference } from '../../../src/domain/operators/differences.ts';
import { time, words } from './format.ts';

/** Members before and after a change, as rows. */
export function Differences({ of, label }: { of: readonly Difference[]; label: string }) {
  return (
    <Table className="diff" aria-label={label} layout="fixed">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Setting</Table.Th>
          <Table.Th scope="col">Before</Table.Th>
          <Table.Th scope="col">After</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {of.map(({ path, before, after }) => (
          <Table.Tr key={path}>
            <Table.Th scope="row">{memberText(path)}</Table.Th>
            <Table.Td>{valueText(before, path)}</Table.Td>
            <Table.Td>{valueText(after, path)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** `pricing.min_credits_per_request` in words, behind the id of a thing if it begins with one. A path with other names in it stays as it is. */
export function memberText(path: string): string {
  const [, subject = '', members = ''] = /^(.* )?(\S*)$/.exec(path) ?? [];
  if (!/^\w+(?:\.\w+)*$/.test(members)) return path;
  const [first = '', ...rest] = members.split('.').map((name) => {
    const tokens = /^credits_per_1k_(\w+)_tokens$/.exec(name)?.[1] as TokenClass | undefined;
    return tokens
      ? `${tokenClassTable[tokens].label}, credits per 1,000 tokens`
      : (shortNames[name] ?? name.replaceAll('_', ' '));
  });
  return [`${subject}${words(first)}`, ...rest].join(' › ');
}

/** Members whose names are not words. */
const shortNames: Readonly<Record<string, string>> = {
  rpm: 'requests per minute',
  tpm: 'tokens per minute',
  parallel: 'calls at the same time',
  img_size: 'image size',
};

/** Texts as they are, nothing as a dash, the times of members that are some, and everything else as JSON. */
export function valueText(value: unknown, path = ''): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'number')
    return path.endsWith('_at') ? time(value) : value.toLocaleString('en', { maximumFractionDigits: 20 });
  return typeof value === 'string' ? value : JSON.stringify(value);
}
