import { Button, Stack, Table, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Fragment, useEffect } from 'react';
import { change } from '../api/admin.ts';
import type { Channel, VerifiedChannel } from '../api/admin-types.ts';
import { Dialog, DialogActions } from '../ui/dialog.tsx';
import { ResourceLink } from '../ui/links.tsx';
import { ErrorAlert, Loading } from '../ui/page.tsx';
import { Status } from '../ui/values.tsx';

/** The name of a model at a provider, which breaks behind its slashes. */
const Path = ({ of: name }: { of: string }) => (
  <div>
    {name.split(/(?<=\/)/).map((part, index) => (
      <Fragment key={`${part} ${index}`}>
        {index > 0 && <wbr />}
        {part}
      </Fragment>
    ))}
  </div>
);

/** Asks a provider, without buying anything, which models of the channel it has. */
export function VerifyDialog({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const verify = useMutation({
    mutationFn: () => change('post', '/channels/{channel}/verify', { channel: channel.channel_id }),
  });
  const { mutate } = verify;
  useEffect(() => mutate(), [mutate]);
  return (
    <Dialog opened onClose={onClose} title={`Models of ${channel.name}`} size="lg">
      <Stack>
        {verify.isPending && <Loading label="Asking the provider" />}
        {verify.error && <ErrorAlert error={verify.error} retry={() => mutate()} />}
        {verify.data && <Result of={verify.data} />}
        <DialogActions>
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </DialogActions>
      </Stack>
    </Dialog>
  );
}

function Result({ of: { call, data } }: { of: VerifiedChannel }) {
  return (
    <>
      <Text size="sm">
        {call.ok
          ? 'The provider answers and accepts the credential.'
          : call.offered
            ? `The provider refused the call: ${[call.reason, call.detail].filter(Boolean).join('. ')}`
            : 'This adapter has no call that costs nothing. On the server, channels verify --live makes one real call per model.'}
      </Text>
      <div role="region" aria-label="Models">
        <Table verticalSpacing="xs" className="listed">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Model</Table.Th>
              <Table.Th>Name at the provider</Table.Th>
              <Table.Th>Listed</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.map(({ model, upstream, listed }) => (
              <Table.Tr key={model}>
                <Table.Td>
                  <ResourceLink of="model" id={model} />
                </Table.Td>
                <Table.Td>
                  {upstream.map((name) => (
                    <Path key={name} of={name} />
                  ))}
                </Table.Td>
                <Table.Td>{listed === null ? 'Unknown' : <Status of={listed ? 'available' : 'not drawn'} />}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </>
  );
}
