import { Table } from '@mantine/core';
import type { Difference } from '../../../src/domain/operators/differences.ts';

/** Members before and after a change, as rows. */
export function Differences({ of, label }: { of: readonly Difference[]; label: string }) {
  return (
    <Table className="diff" aria-label={label} layout="fixed">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Member</Table.Th>
          <Table.Th scope="col">Before</Table.Th>
          <Table.Th scope="col">After</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {of.map(({ path, before, after }) => (
          <Table.Tr key={path}>
            <Table.Th scope="row">{path}</Table.Th>
            <Table.Td>{valueText(before)}</Table.Td>
            <Table.Td>{valueText(after)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** Texts as they are, nothing as a dash, and everything else as JSON. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
