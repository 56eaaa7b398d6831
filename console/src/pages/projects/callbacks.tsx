import { Alert, Button, Card, Group, Select, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { change, readVersioned } from '../../api/admin.ts';
import { isConflict } from '../../api/request.ts';
import { useMay } from '../../api/session.ts';
import type { TestCallback } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { time, words } from '../../ui/format.ts';
import { Empty, ErrorAlert } from '../../ui/page.tsx';
import { Copyable, Facts } from '../../ui/values.tsx';

/** The secret that signs the callbacks of a project, and a signed sample for its receiver. */
export function Callbacks({ projectId }: { projectId: string }) {
  const isOwner = useMay('owner');
  const mayAct = useMay('operator');
  if (!mayAct) return <Empty title="You need the role operator" />;
  return (
    <Stack>
      {isOwner && <SigningSecret projectId={projectId} />}
      <TestCall projectId={projectId} />
    </Stack>
  );
}

function SigningSecret({ projectId }: { projectId: string }) {
  const [shown, setShown] = useState<ShownSecret | null>(null);
  const [asking, setAsking] = useState(false);
  const show = useMutation({ mutationFn: () => readSecret(projectId), onSuccess: setShown });
  const secret = shown?.resource ?? null;
  const overlaps = secret !== null && secret.previous_until !== null && secret.previous_until > Date.now() / 1_000;
  return (
    <Card withBorder component="section" aria-labelledby="secret">
      <Stack align="flex-start">
        <div>
          <Title order={2} size="h4" id="secret">
            Callback secret
          </Title>
          <Text size="sm" c="dimmed">
            Receivers check the signatures of callbacks with it. The audit log records who looks at it.
          </Text>
        </div>
        {secret && (
          <Facts
            of={[
              ['Secret', <Copyable key="new" text={secret.webhook_secret} label="Copy the secret" wrap />],
              [
                'Former secret',
                secret.previous_secret && (
                  <Copyable key="old" text={secret.previous_secret} label="Copy the former secret" wrap />
                ),
              ],
              ['Both sign until', secret.previous_until && time(secret.previous_until)],
            ]}
          />
        )}
        {show.error && <ErrorAlert error={show.error} />}
        <Group gap="xs">
          {!secret && (
            <Button variant="default" onClick={() => show.mutate()} loading={show.isPending}>
              Show the secret
            </Button>
          )}
          <Button variant="default" onClick={() => setAsking(true)}>
            New callback secret
          </Button>
        </Group>
      </Stack>
      <RotateDialog
        opened={asking}
        overlaps={overlaps}
        version={shown?.version}
        projectId={projectId}
        onClose={() => setAsking(false)}
        readAgain={() => show.mutateAsync()}
      />
    </Card>
  );
}

/** With its version, on which a new secret is based. */
const readSecret = (projectId: string) => readVersioned('/projects/{id}/secret', { id: projectId });
type ShownSecret = Awaited<ReturnType<typeof readSecret>>;

function RotateDialog({
  opened,
  overlaps,
  version,
  projectId,
  onClose,
  readAgain,
}: {
  opened: boolean;
  overlaps: boolean;
  version: string | undefined;
  projectId: string;
  onClose: () => void;
  readAgain: () => Promise<unknown>;
}) {
  const [isLate, setLate] = useState(false);
  const rotate = async () => {
    try {
      return await change('post', '/projects/{id}/secret/rotate', { id: projectId }, { force: overlaps }, version);
    } catch (error) {
      if (isConflict(error)) {
        setLate(true);
        await readAgain();
      }
      throw error;
    }
  };
  return (
    <ActionDialog
      opened={opened}
      onClose={onClose}
      title="New callback secret"
      about={
        overlaps
          ? 'Two secrets sign now. A further one ends the older of them immediately: receivers that still have it refuse the callbacks.'
          : 'Both secrets sign for 24 hours. Give the new one to the receivers in that time.'
      }
      act="Make a new secret"
      danger={overlaps}
      notice={
        isLate && (
          <Alert color="orange" title="Changed meanwhile" role="alert">
            Another operator made a new secret after you had looked. The page shows it now, and yours was not made.
          </Alert>
        )
      }
      run={rotate}
      done={() => 'The project has a new callback secret.'}
      onDone={() => void readAgain().then(() => setLate(false))}
    />
  );
}

const events = ['task.succeeded', 'task.failed', 'task.canceled'] as const;

function TestCall({ projectId }: { projectId: string }) {
  const [url, setUrl] = useState('');
  const [event, setEvent] = useState<TestCallback['type']>('task.succeeded');
  const send = useMutation({
    mutationFn: () =>
      change('post', '/projects/{project}/test-callback', { project: projectId }, { url: url.trim(), event }),
  });
  return (
    <Card withBorder component="section" aria-labelledby="sample">
      <form
        onSubmit={(submitted) => {
          submitted.preventDefault();
          send.mutate();
        }}
      >
        <Stack>
          <div>
            <Title order={2} size="h4" id="sample">
              Test callback
            </Title>
            <Text size="sm" c="dimmed">
              Sends one signed callback of a made-up task to a receiver.
            </Text>
          </div>
          <Group align="flex-end" gap="sm">
            <TextField
              label="URL of the receiver"
              placeholder="https://shop.example/hooks/tollgate"
              value={url}
              onChange={setUrl}
              w={{ base: '100%', xs: 360 }}
              required
            />
            <Select
              label="Event"
              data={events}
              value={event}
              onChange={(next) => next !== null && setEvent(next)}
              allowDeselect={false}
              w={{ base: '100%', xs: 180 }}
            />
            <Button type="submit" variant="default" loading={send.isPending} disabled={url.trim() === ''}>
              Send
            </Button>
          </Group>
          {send.error && <ErrorAlert error={send.error} />}
          {send.data && <Sent of={send.data} />}
        </Stack>
      </form>
    </Card>
  );
}

function Sent({ of: { ok, status, error, event_id: id } }: { of: TestCallback }) {
  const came = error === null ? `It answered with status ${status ?? ''}.` : `${words(error)}.`;
  return (
    <Alert
      color={ok ? 'teal' : 'red'}
      title={ok ? 'The receiver accepted it' : 'The receiver did not accept it'}
      role="status"
    >
      <Text size="sm" className="breakable">
        {came} Its webhook-id is {id}.
      </Text>
    </Alert>
  );
}
