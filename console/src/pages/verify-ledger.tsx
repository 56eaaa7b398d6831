import { Alert, Button, Checkbox, Stack, Table, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { change } from '../api/admin.ts';
import type { LedgerReport } from '../api/admin-types.ts';
import { Dialog, DialogActions } from '../ui/dialog.tsx';
import { number, time } from '../ui/format.ts';
import { ErrorAlert } from '../ui/page.tsx';
import { Status } from '../ui/values.tsx';

/** Adds up the entries of the ledger and shows every invariant. Changes nothing. */
export function VerifyLedger({ onClose }: { onClose: () => void }) {
  const [full, setFull] = useState(false);
  const verify = useMutation({ mutationFn: () => change('post', '/ledger/verify', {}, { full }) });
  return (
    <Dialog opened onClose={onClose} title="Verify the ledger" size="lg">
      <Stack>
        <Text size="sm">
          Adds up the entries and checks every invariant. It changes nothing. The nightly maintenance does the same.
        </Text>
        <Checkbox
          label="Begin at the first entry, not at the last checkpoint"
          checked={full}
          onChange={({ currentTarget }) => setFull(currentTarget.checked)}
        />
        {verify.error && <ErrorAlert error={verify.error} />}
        {verify.data && <Report of={verify.data} />}
        <DialogActions>
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <Button onClick={() => verify.mutate()} loading={verify.isPending}>
            Verify
          </Button>
        </DialogActions>
      </Stack>
    </Dialog>
  );
}

function Report({ of: { ok, since, invariants } }: { of: LedgerReport }) {
  return (
    <>
      <Alert color={ok ? 'teal' : 'red'} title={ok ? 'The books balance' : 'The books do not balance'} role="status">
        <Text size="sm">
          {since === null
            ? 'Every entry was added up.'
            : `Since the checkpoint of ${time(Date.parse(since.covers_until) / 1_000)}.`}
        </Text>
      </Alert>
      <Table verticalSpacing="xs" aria-label="Invariants">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Promise</Table.Th>
            <Table.Th>Breaches</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Object.entries(invariants).map(([name, { promise, breaches, examples }]) => (
            <Table.Tr key={name}>
              <Table.Td>{name}</Table.Td>
              <Table.Td className="breakable">
                {promise}
                {examples.length > 0 && <Text size="xs">{examples.join(', ')}</Text>}
              </Table.Td>
              <Table.Td>
                {breaches === 0 ? (
                  'None'
                ) : (
                  <>
                    <Status of="failed" /> {number(breaches)}
                  </>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </>
  );
}
