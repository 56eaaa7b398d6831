import {
  ActionIcon,
  Badge,
  Card,
  Collapse,
  Group,
  NumberInput,
  Stack,
  Text,
  Textarea,
  Tooltip,
  UnstyledButton,
  VisuallyHidden,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import { eventData, type ChatChunk } from '../../api/chat-stream.ts';
import type { ClientApi } from '../../api/playground.ts';
import { newIdempotencyKey } from '../../api/request.ts';
import type { Model } from '../../api/client-types.ts';
import { credits, milliseconds } from '../../ui/format.ts';
import { SendIcon, StopIcon } from '../../ui/icons.tsx';
import { Empty, ErrorAlert } from '../../ui/page.tsx';
import { CodeButton } from './code-panel.tsx';

interface Message {
  role: 'user' | 'assistant';
  content: string;
  thoughts: string;
  /** What the answer cost and took, once it is complete. */
  note: string;
}

const path = '/api/v1/chat/completions';
/** Left out of the code to copy, which prints the whole answer. */
const streamed = { stream: true, stream_options: { include_usage: true } };

/** A conversation with a chat model. Answers appear as the provider writes them. */
export function Chat({ api, model }: { api: ClientApi; model: Model }) {
  const [messages, setMessages] = useState<Message[]>([]);
  const [text, setText] = useState('Explain in two sentences what a gateway for language models is good for.');
  const [maxTokens, setMaxTokens] = useState<number | string>(1_024);
  const [error, setError] = useState<unknown>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [messages]);
  useEffect(() => () => running?.abort(), [running]);

  const bodyOf = (history: Message[]) => ({
    model: model.id,
    messages: history.map(({ role, content }) => ({ role, content })),
    ...(typeof maxTokens === 'number' && { max_tokens: maxTokens }),
  });
  const question = (content: string): Message => ({ role: 'user', content, thoughts: '', note: '' });

  const ask = async (): Promise<void> => {
    const history = [...messages, question(text)];
    const controller = new AbortController();
    setText('');
    setError(null);
    setRunning(controller);
    setMessages([...history, { role: 'assistant', content: '', thoughts: '', note: '' }]);
    const extend = (change: (answer: Message) => Message): void =>
      setMessages((all) => all.map((message, index) => (index === all.length - 1 ? change(message) : message)));
    const startedAt = performance.now();
    try {
      await readAnswer(api, { ...bodyOf(history), ...streamed }, controller.signal, startedAt, extend);
    } catch (trouble) {
      if (!controller.signal.aborted) setError(trouble);
      // An answer that never began leaves the question in the box, to be sent again.
      setMessages((all) => (all.at(-1)?.content === '' ? all.slice(0, -2) : all));
      setText((now) => (now === '' && !controller.signal.aborted ? text : now));
    } finally {
      setRunning(null);
    }
  };

  return (
    <Card withBorder component="section" aria-label="Conversation">
      <Stack>
        <Stack gap="md" className="conversation" tabIndex={0} role="log" aria-label="Messages">
          {messages.length === 0 && (
            <Empty title="Say something">A question is filled in. Press Enter to send it.</Empty>
          )}
          {messages.map((message, index) => (
            <Bubble key={index} message={message} busy={running !== null && index === messages.length - 1} />
          ))}
          <div ref={end} />
        </Stack>
        {error !== null && <ErrorAlert error={error} />}
        <Composer text={text} setText={setText} running={running} send={() => void ask()} />
        <Group justify="space-between" align="flex-end" gap="sm">
          <NumberInput
            label="Longest answer in tokens"
            value={maxTokens}
            onChange={setMaxTokens}
            min={16}
            max={8_192}
            step={256}
            allowDecimal={false}
            thousandSeparator=","
            w={230}
          />
          <Text size="sm" c="dimmed">
            {credits(model.pricing.credits_per_1k_input_tokens)} per 1,000 tokens in,{' '}
            {credits(model.pricing.credits_per_1k_output_tokens)} out
          </Text>
          <CodeButton path={path} body={bodyOf([...messages, question(text)])} />
        </Group>
      </Stack>
    </Card>
  );
}

/** The box of the next message, with its button to send or to stop. */
function Composer({
  text,
  setText,
  running,
  send,
}: {
  text: string;
  setText: (text: string) => void;
  running: AbortController | null;
  send: () => void;
}) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (running === null && text.trim() !== '') send();
      }}
    >
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <Textarea
          flex={1}
          label="Message"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          autosize
          minRows={1}
          maxRows={8}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
        />
        {running === null ? (
          <Tooltip label="Send (Enter)">
            <ActionIcon type="submit" size={36} aria-label="Send" disabled={text.trim() === ''}>
              <SendIcon />
            </ActionIcon>
          </Tooltip>
        ) : (
          <ActionIcon size={36} color="red" aria-label="Stop the answer" onClick={() => running.abort()}>
            <StopIcon />
          </ActionIcon>
        )}
      </Group>
    </form>
  );
}

/** Reads a streamed answer into the last message. Throws what the gateway or the stream reports. */
async function readAnswer(
  api: ClientApi,
  body: object,
  signal: AbortSignal,
  startedAt: number,
  extend: (change: (answer: Message) => Message) => void,
): Promise<void> {
  const headers = { 'idempotency-key': newIdempotencyKey() };
  const response = await api.send(path, { method: 'POST', body, headers, signal });
  let tokens: number | undefined;
  let paid: number | undefined;
  for await (const data of eventData(response)) {
    const { choices = [], usage, tollgate, error } = data as ChatChunk;
    if (error) throw new Error(error.message);
    const { content, reasoning_content: thoughts } = choices[0]?.delta ?? {};
    if (content || thoughts)
      extend((answer) => ({
        ...answer,
        content: answer.content + (content ?? ''),
        thoughts: answer.thoughts + (thoughts ?? ''),
      }));
    tokens = usage?.completion_tokens ?? tokens;
    paid = tollgate?.credits ?? paid;
  }
  const facts = [
    paid !== undefined && credits(paid),
    tokens !== undefined && `${tokens} tokens`,
    milliseconds(performance.now() - startedAt),
  ];
  extend((answer) => ({ ...answer, note: facts.filter(Boolean).join(' · ') }));
}

function Bubble({ message: { role, content, thoughts, note }, busy }: { message: Message; busy: boolean }) {
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
      <Text component="div" className="prose">
        {content === '' && busy ? 'Thinking …' : content}
      </Text>
      {note !== '' && (
        <Badge variant="default" tt="none" fw={500} mt={6}>
          {note}
        </Badge>
      )}
    </div>
  );
}
