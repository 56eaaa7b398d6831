import { Alert, Button, Group, Select, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { change } from '../api/admin.ts';
import { useMay } from '../api/session.ts';
import type { Alarm, Silence } from '../api/admin-types.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { time, words } from '../ui/format.ts';
import { AlertIcon } from '../ui/icons.tsx';
import { actorName, PageLink } from '../ui/links.tsx';
import { When } from '../ui/values.tsx';

/** One alarm: what to do, where, and how to be left alone by it for a while. */
export function AlarmCard({ alarm }: { alarm: Alarm }) {
  const { kind, message, remedy, since, silence, subjects, also } = alarm;
  const mayAct = useMay('operator');
  return (
    <Alert color={silence ? 'gray' : 'orange'} variant="light" icon={<AlertIcon />} title={message}>
      <Text size="sm" {...(silence && { c: 'dimmed' })}>
        {silence
          ? `Silenced until ${time(silence.until)} by ${actorName(silence.created_by)}: ${silence.reason}`
          : remedy}
      </Text>
      {also.length > 0 && <Text size="sm">Because of it: {also.map((raised) => raised.message).join('. ')}.</Text>}
      <Group gap="md" mt={6}>
        {subjects.slice(0, linksMax).map((subject) => (
          <AlarmLink key={subject} kind={kind} subject={subject} />
        ))}
        {subjects.length > linksMax && <AlarmLink kind={kind} subject="" />}
        {mayAct && (silence ? <EndSilence silence={silence} message={message} /> : <Silencer alarm={alarm} />)}
        {since !== null && (
          <Text size="xs" c="dimmed">
            Since <When at={since} />
          </Text>
        )}
      </Group>
    </Alert>
  );
}

const spans = [
  { value: '1h', label: '1 hour' },
  { value: '4h', label: '4 hours' },
  { value: '1d', label: '1 day' },
  { value: '7d', label: '7 days' },
];

/** The things that an alarm of several opens one by one. */
const linksMax = 4;

function Silencer({ alarm: { name, subjects, also, message } }: { alarm: Alarm }) {
  const [opened, setOpened] = useState(false);
  const [span, setSpan] = useState('4h');
  const [reason, setReason] = useState('');
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        onClick={() => setOpened(true)}
        aria-label={`Silence for …: ${message}`}
      >
        Silence for …
      </Button>
      <ActionDialog
        opened={opened}
        onClose={() => setOpened(false)}
        title="Silence this alarm"
        about={
          <>
            No webhook and no mail is sent for “{message}” until then. It stays in the log, in the metrics and on this
            page.
          </>
        }
        act="Silence"
        disabled={reason.trim() === ''}
        run={() =>
          Promise.all(
            [...subjects.map((subject) => ({ name, subject })), ...also].map((one) =>
              change(
                'post',
                '/alarms/silences',
                {},
                { name: one.name, subject: one.subject, for: span, reason: reason.trim() },
              ),
            ),
          )
        }
        done={([begun]) => (begun ? `Silenced until ${time(begun.until)}.` : '')}
      >
        <Select
          label="For"
          data={spans}
          value={span}
          onChange={(next) => setSpan(next ?? span)}
          allowDeselect={false}
        />
        <TextInput
          label="Reason"
          description="For your colleagues, who see it on this page"
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          maxLength={200}
          required
        />
      </ActionDialog>
    </>
  );
}

function EndSilence({ silence, message }: { silence: Silence; message: string }) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        onClick={() => setOpened(true)}
        aria-label={`End the silence: ${message}`}
      >
        End the silence
      </Button>
      <ActionDialog
        opened={opened}
        onClose={() => setOpened(false)}
        title="End the silence"
        about={
          silence.subject === ''
            ? `The webhook and mails are sent again for every alarm “${words(silence.name).toLowerCase()}”.`
            : `The webhook and mails are sent again for the alarm “${words(silence.name).toLowerCase()}” of ${silence.subject}.`
        }
        act="End the silence"
        run={() => change('post', '/alarms/silences/{id}/end', { id: silence.silence_id })}
        done={() => 'The silence has ended.'}
      />
    </>
  );
}

/** Where the alarm is looked after. */
function AlarmLink({ kind, subject }: Pick<Alarm, 'kind' | 'subject'>) {
  if (kind === 'channel' && subject !== '')
    return (
      <PageLink to="/channels/$channelId" params={{ channelId: subject }} size="sm" c="inherit" underline="always">
        Open {subject}
      </PageLink>
    );
  if (kind === 'job')
    return (
      <PageLink to="/jobs" search={{ name: subject }} size="sm" c="inherit" underline="always">
        Open its runs
      </PageLink>
    );
  const to = links[kind];
  if (!to) return null;
  return (
    <PageLink to={to.to} search={to.search ?? {}} size="sm" c="inherit" underline="always">
      Open {words(to.name).toLowerCase()}
    </PageLink>
  );
}

const links: Record<
  Exclude<Alarm['kind'], 'job'>,
  { to: '/channels' | '/tasks' | '/deliveries'; name: string; search?: Record<string, string> } | null
> = {
  channel: { to: '/channels', name: 'channels' },
  unknown_outcome: { to: '/tasks', name: 'tasks', search: { unknown: 'true' } },
  temporal: { to: '/tasks', name: 'tasks' },
  // Nothing of the console repairs it.
  installation: null,
  callbacks: { to: '/deliveries', name: 'deliveries', search: { state: 'pending', sort: 'next_attempt_at' } },
};
