import { Badge, Collapse, Group, Stack, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import type { Model } from '../../api/client-types.ts';
import { PageLink } from '../../ui/links.tsx';
import { Empty, ErrorAlert } from '../../ui/page.tsx';
import type { Message, Thread } from './use-threads.ts';

/** What was said to one model and what it answered. */
export function ChatThread({
  thread,
  model,
  isRunning,
  isOne,
}: {
  thread: Thread;
  model: Model;
  isRunning: boolean;
  isOne: boolean;
}) {
  const { messages, error } = thread;
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [messages]);
  return (
    <Stack gap="sm" component="section" aria-label={`Answers of ${model.display_name}`} flex={1} miw={0}>
      {!isOne && <Text fw={600}>{model.display_name}</Text>}
      <Stack
        gap="md"
        className="conversation"
        tabIndex={0}
        role="log"
        aria-label={isOne ? 'Messages' : `Messages of ${model.display_name}`}
      >
        {messages.length === 0 && <Empty title="Say something">Write a message, and press Enter to send it.</Empty>}
        {messages.map((message, index) => (
          <Bubble
            key={index}
            message={message}
            busy={isRunning && index === messages.length - 1 && message.note === ''}
          />
        ))}
        <div ref={end} />
      </Stack>
      {error !== null && <ErrorAlert error={error} />}
    </Stack>
  );
}

function Bubble({ message, busy }: { message: Message; busy: boolean }) {
  const { role, content, thoughts, pictures } = message;
  const [opened, { toggle }] = useDisclosure(false);
  return (
    <div className={`bubble bubble-${role}`} aria-busy={busy}>
      <VisuallyHidden>{role === 'user' ? 'You:' : 'The model:'}</VisuallyHidden>
      {thoughts !== '' && (
        <>
          <UnstyledButton fz="xs" c="dimmed" onClick={toggle} aria-expanded={opened}>
            {opened ? 'Hide' : 'Show'} its thoughts
          </UnstyledButton>
          <Collapse expanded={opened}>
            <Text size="sm" c="dimmed" className="prose">
              {thoughts}
            </Text>
          </Collapse>
        </>
      )}
      {pictures.length > 0 && (
        <Group gap="xs" mb={6}>
          {pictures.map((url, index) => (
            <div key={index} className="attached">
              <img src={url} alt={`Picture ${index + 1} of the question`} />
            </div>
          ))}
        </Group>
      )}
      <Text component="div" className="prose">
        {content === '' && busy ? 'Thinking …' : content}
      </Text>
      <AnswerFacts message={message} />
    </div>
  );
}

/** What an answer cost and took, the channel that gave it, and the page of its request. */
function AnswerFacts({ message: { note, channel, requestId } }: { message: Message }) {
  if (note === '') return null;
  return (
    <Group gap={6} mt={6}>
      <Badge variant="default" tt="none" fw={500}>
        {note}
      </Badge>
      {channel !== null && (
        <Badge variant="default" tt="none" fw={500}>
          {channel}
        </Badge>
      )}
      {requestId !== null && (
        <PageLink
          to="/requests/$requestId"
          params={{ requestId }}
          size="xs"
          c="inherit"
          underline="always"
          className="breakable"
        >
          {requestId}
        </PageLink>
      )}
    </Group>
  );
}
