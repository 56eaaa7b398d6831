import { Button, Card, Group, Text, Timeline, Title } from '@mantine/core';
import { useState } from 'react';
import { useMay } from '../../api/session.ts';
import { ResourceLink } from '../../ui/links.tsx';
import { RedeliverDialog } from '../../ui/redeliver-dialog.tsx';
import { CopyAction, When } from '../../ui/values.tsx';
import type { Step } from './timeline.ts';

/** What happened to a request, oldest first. A callback of `taskId` that waits for its next try can be sent now. */
export function StepList({ steps, taskId }: { steps: Step[]; taskId?: string }) {
  const mayAct = useMay('operator');
  const [isSending, setSending] = useState(false);
  return (
    <Card withBorder component="section" aria-labelledby="timeline">
      <Title order={2} size="h4" id="timeline" mb="md">
        What happened
      </Title>
      <Timeline active={steps.length} bulletSize={14} lineWidth={2}>
        {steps.map((step) => (
          <Timeline.Item key={step.id} title={<StepTitle of={step} />} color={step.color}>
            <Text size="sm" c="dimmed" className="breakable">
              {step.about}
            </Text>
            <Text size="xs" c="dimmed" mt={2}>
              <When at={step.at} />
            </Text>
            {step.canSendNow && mayAct && (
              <Button size="compact-xs" variant="default" mt={4} onClick={() => setSending(true)}>
                Send now
              </Button>
            )}
          </Timeline.Item>
        ))}
      </Timeline>
      <RedeliverDialog taskId={isSending ? (taskId ?? null) : null} onClose={() => setSending(false)} />
    </Card>
  );
}

/** The title, in which the resource that it names is a link. */
function StepTitle({ of: { title, resource } }: { of: Step }) {
  if (resource === undefined) return title;
  const at = title.indexOf(resource.words);
  return (
    <>
      {title.slice(0, at)}
      <ResourceLink of={resource.of} id={resource.id} name={resource.words} inline />
      {title.slice(at + resource.words.length)}
    </>
  );
}

/** What may be sent to the customer, with a button that copies it. */
export function ForCustomer({ text }: { text: string }) {
  return (
    <Group gap={4} mb="md" wrap="nowrap" align="flex-start">
      <div>
        <Text size="xs" c="dimmed">
          For the customer
        </Text>
        <Text size="sm" className="breakable">
          {text}
        </Text>
      </div>
      <CopyAction text={text} label="Copy the sentence for the customer" />
    </Group>
  );
}
