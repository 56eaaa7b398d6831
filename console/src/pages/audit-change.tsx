import { Table, Text } from '@mantine/core';
import type { AuditEntry } from '../api/admin-types.ts';
import { memberText, valueText } from '../ui/differences.tsx';

/** What a change changed: a row for each member that differs, with its value before and after. */
export function AuditChange({ of: { before, after, detail, action } }: { of: AuditEntry }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changed = names.filter((name) => before === null || valueText(before[name]) !== valueText(after?.[name]));
  const notes = Object.entries(detail);
  if (changed.length === 0 && notes.length === 0) return 'None';
  return (
    <details className="detail">
      <summary>{[...changed, ...notes.map(([name]) => name)].slice(0, 4).map(memberText).join(', ')}</summary>
      {changed.length > 0 && (
        <Table className="diff" aria-label={`What ${action} changed`} layout="fixed">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Setting</Table.Th>
              {before !== null && <Table.Th scope="col">Before</Table.Th>}
              <Table.Th scope="col">{before === null ? 'Value' : 'After'}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {changed.map((name) => (
              <Table.Tr key={name}>
                <Table.Th scope="row">{memberText(name)}</Table.Th>
                {before !== null && <Table.Td>{valueText(before[name], name)}</Table.Td>}
                <Table.Td>{valueText(after?.[name], name)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {notes.map(([name, value]) => (
        <Text key={name} size="xs" ta="left" mt={4} className="breakable">
          <b>{memberText(name)}</b>: {valueText(value, name)}
        </Text>
      ))}
    </details>
  );
}
