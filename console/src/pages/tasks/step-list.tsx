import { Card, Group, Text, Timeline, Title } from '@mantine/core';
import { CopyAction, When } from '../../ui/values.tsx';
import type { Step } from './timeline.ts';

/** What happened to a request, oldest first. */
export function StepList({ steps }: { steps: Step[] }) {
  return (
    <Card withBorder component="section" aria-labelledby="timeline">
      <Title order={2} size="h4" id="timeline" mb="md">
        What happened
      </Title>
      <Timeline active={steps.length} bulletSize={14} lineWidth={2}>
        {steps.map((step) => (
          <Timeline.Item key={step.id} title={step.title} color={step.color}>
            <Text size="sm" c="dimmed" className="breakable">
              {step.about}
            </Text>
            <Text size="xs" c="dimmed" mt={2}>
              <When at={step.at} />
            </Text>
          </Timeline.Item>
        ))}
      </Timeline>
    </Card>
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
