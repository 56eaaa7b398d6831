import { ActionIcon, Card, Group, NumberInput, Stack, Textarea, Tooltip } from '@mantine/core';
import { useState } from 'react';
import type { ClientApi } from '../../api/playground.ts';
import type { Model } from '../../api/client-types.ts';
import { SendIcon, StopIcon } from '../../ui/icons.tsx';
import { AttachedPictures, dataUrlOf, takesPictures } from './attached-pictures.tsx';
import { ChatEstimate } from './chat-estimate.tsx';
import { ChatThread } from './chat-thread.tsx';
import { CodeButton } from './code-panel.tsx';
import type { Draft } from './draft.ts';
import { chatPath, question, useThreads, type Message } from './use-threads.ts';

const firstQuestion = 'Explain in two sentences what a gateway for language models is good for.';

/** A conversation with one chat model, or with two side by side. Answers appear as the providers write them. */
export function Chat({ api, models, draft }: { api: ClientApi; models: readonly Model[]; draft: Draft }) {
  const settings = useSettings();
  const [text, setText] = useState(draft.prompt ?? firstQuestion);
  const [pictures, setPictures] = useState<string[]>([]);
  const { threadAt, ask, stop, isRunning } = useThreads(api, settings.bodyOf);
  const add = (files: File[]): void =>
    void Promise.all(files.map(dataUrlOf)).then((urls) => setPictures((before) => [...before, ...urls]));
  const write = (written: string): void => {
    setText(written);
    draft.keep(written);
  };
  const send = async (): Promise<void> => {
    setText('');
    setPictures([]);
    const ids = models.map(({ id }) => id);
    if (await ask(ids, question(text, pictures))) return;
    setText((now) => (now === '' ? text : now));
    setPictures((now) => (now.length === 0 ? pictures : now));
  };
  const isOne = models.length === 1;
  return (
    <Card withBorder component="section" aria-label="Conversation">
      <Stack>
        <Group align="flex-start" gap="md" className="threads">
          {models.map((model, index) => (
            <ChatThread key={index} thread={threadAt(index)} model={model} isRunning={isRunning} isOne={isOne} />
          ))}
        </Group>
        <Composer
          text={text}
          setText={write}
          isRunning={isRunning}
          stop={stop}
          send={() => void send()}
          add={add}
          attached={
            <AttachedPictures
              pictures={pictures}
              add={add}
              remove={(index) => setPictures((before) => before.filter((_, each) => each !== index))}
            />
          }
        />
        {settings.fields}
        <Group justify="space-between" align="flex-end" gap="sm">
          <Stack gap={2}>
            {models.map((model, index) => (
              <ChatEstimate
                key={index}
                api={api}
                model={model}
                isOne={isOne}
                request={{
                  system: settings.system,
                  texts: [...threadAt(index).messages.map(({ content }) => content), text],
                  maxTokens: settings.maxTokens,
                }}
              />
            ))}
          </Stack>
          <Group gap="xs">
            {models.map((model, index) => (
              <CodeButton
                key={index}
                path={chatPath}
                body={threadAt(index).sent ?? settings.bodyOf(model.id, [question(text, pictures)])}
                {...(!isOne && { of: model.display_name })}
              />
            ))}
          </Group>
        </Group>
      </Stack>
    </Card>
  );
}

/** What all questions are sent with, and the fields that change it. */
function useSettings() {
  const [system, setSystem] = useState('');
  const [temperature, setTemperature] = useState<number | string>('');
  const [maxTokens, setMaxTokens] = useState<number | string>(1_024);
  const bodyOf = (model: string, history: readonly Message[]) => ({
    model,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      ...history.map(({ role, content, pictures }) => ({ role, content: contentOf(content, pictures) })),
    ],
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof maxTokens === 'number' && { max_tokens: maxTokens }),
  });
  const fields = (
    <Group align="flex-start" gap="sm">
      <Textarea
        label="System prompt"
        placeholder="None"
        value={system}
        onChange={(event) => setSystem(event.currentTarget.value)}
        autosize
        minRows={1}
        maxRows={6}
        flex={1}
        miw={220}
      />
      <NumberInput
        label="Temperature"
        placeholder="As usual"
        value={temperature}
        onChange={setTemperature}
        min={0}
        max={2}
        step={0.1}
        decimalScale={2}
        w={130}
      />
      <NumberInput
        label="Longest answer in tokens"
        value={maxTokens}
        onChange={setMaxTokens}
        min={16}
        max={8_192}
        step={256}
        allowDecimal={false}
        thousandSeparator=","
        w={200}
      />
    </Group>
  );
  return { system, bodyOf, fields, maxTokens: typeof maxTokens === 'number' ? maxTokens : undefined };
}

/** A text alone, or the parts of a message with pictures. */
const contentOf = (text: string, pictures: readonly string[]) =>
  pictures.length === 0
    ? text
    : [
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...pictures.map((url) => ({ type: 'image_url', image_url: { url } })),
      ];

interface ComposerProps {
  text: string;
  setText: (text: string) => void;
  isRunning: boolean;
  stop: () => void;
  send: () => void;
  add: (files: File[]) => void;
  attached: React.ReactNode;
}

/** The box of the next message, with its button to send or to stop. It takes pictures that are pasted or dropped. */
function Composer({ text, setText, isRunning, stop, send, add, attached }: ComposerProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!isRunning && text.trim() !== '') send();
      }}
      {...takesPictures(add)}
    >
      <Stack gap="xs">
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
          {isRunning ? (
            <ActionIcon size={36} color="red" aria-label="Stop the answer" onClick={stop}>
              <StopIcon />
            </ActionIcon>
          ) : (
            <Tooltip label="Send (Enter)">
              <ActionIcon type="submit" size={36} aria-label="Send" disabled={text.trim() === ''}>
                <SendIcon />
              </ActionIcon>
            </Tooltip>
          )}
        </Group>
        {attached}
      </Stack>
    </form>
  );
}
