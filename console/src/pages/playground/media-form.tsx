import { Button, Card, Grid, Group, Stack, Text, Textarea } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { createPath, runTask, type ClientApi } from '../../api/playground.ts';
import { ApiError } from '../../api/request.ts';
import type { Model, Quote, Task } from '../../api/client-types.ts';
import { credits, words } from '../../ui/format.ts';
import { PlaygroundIcon } from '../../ui/icons.tsx';
import { ErrorAlert } from '../../ui/page.tsx';
import { CodeButton } from './code-panel.tsx';
import { FieldInput } from './field-input.tsx';
import { fieldsOf, initialValues, mediaInputsOf, requestBody, type Values } from './form-fields.ts';
import { MediaInputField } from './media-input.tsx';
import { Results, type Run } from './results.tsx';

/** The form of a picture or video model, drawn from its catalog entry, and what it made. */
export function MediaForm({ api, model, projectId }: { api: ClientApi; model: Model; projectId: string }) {
  const [values, setValues] = useState<Values>(() => initialValues(model));
  const [runs, setRuns] = useState<Run[]>([]);
  const set = (key: string) => (value: Values[string]) => setValues((before) => ({ ...before, [key]: value }));
  const body = useMemo(() => requestBody(model, values), [model, values]);
  const quote = useQuote(api, { model, projectId, body });
  const generate = useGenerate(api, model, projectId, setRuns);
  const refusal = quote.error instanceof ApiError ? quote.error : null;
  const errorOf = (key: string): string | undefined => (refusal?.param === key ? refusal.message : undefined);
  const fields = fieldsOf(model);
  const inputs = mediaInputsOf(model);
  const shownFields = ['prompt', 'negative_prompt', ...inputs, ...fields.map(({ key }) => key)];
  const elsewhere =
    quote.error && (refusal?.param == null || !shownFields.includes(refusal.param)) ? quote.error : null;

  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Card withBorder component="section" aria-label="Request">
          <form
            onSubmit={(event) => {
              event.preventDefault();
              generate.mutate(body);
            }}
          >
            <Stack>
              <Textarea
                label="Prompt"
                value={typeof values['prompt'] === 'string' ? values['prompt'] : ''}
                onChange={(event) => set('prompt')(event.currentTarget.value)}
                error={errorOf('prompt')}
                autosize
                minRows={3}
                maxRows={10}
                required
              />
              {fields.map((field) => (
                <FieldInput
                  key={field.key}
                  field={field}
                  value={values[field.key]}
                  error={errorOf(field.key)}
                  onChange={set(field.key)}
                />
              ))}
              <MoreOptions api={api} model={model} values={values} errorOf={errorOf} set={set} />
              {elsewhere && <ErrorAlert error={elsewhere} />}
              <Group gap="sm">
                <Button type="submit" size="md" loading={generate.isPending} leftSection={<PlaygroundIcon size={18} />}>
                  Generate
                </Button>
                <Price quote={quote.error ? undefined : quote.data} />
                <CodeButton path={createPath(model.type)} body={body} />
              </Group>
            </Stack>
          </form>
        </Card>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Results runs={runs} type={model.type === 'video' ? 'video' : 'image'} />
      </Grid.Col>
    </Grid>
  );
}

/** The inputs that few requests have: pictures, clips and what to leave out. */
function MoreOptions({
  api,
  model,
  values,
  errorOf,
  set,
}: {
  api: ClientApi;
  model: Model;
  values: Values;
  errorOf: (key: string) => string | undefined;
  set: (key: string) => (value: Values[string]) => void;
}) {
  const inputs = mediaInputsOf(model);
  const takesNegative = model.parameters['negative_prompt'] === true;
  const errorInMore = ['negative_prompt', ...inputs].some((key) => errorOf(key) !== undefined);
  if (!takesNegative && inputs.length === 0) return null;
  return (
    <details className="more-options" {...(errorInMore && { open: true })}>
      <summary>More options</summary>
      <Stack mt="sm">
        {takesNegative && (
          <Textarea
            label="What to leave out"
            description="Optional"
            value={typeof values['negative_prompt'] === 'string' ? values['negative_prompt'] : ''}
            onChange={(event) => set('negative_prompt')(event.currentTarget.value)}
            error={errorOf('negative_prompt')}
            autosize
            minRows={1}
            maxRows={4}
          />
        )}
        {inputs.map((name) => (
          <MediaInputField
            key={name}
            api={api}
            name={name}
            value={values[name]}
            error={errorOf(name)}
            onChange={set(name)}
          />
        ))}
      </Stack>
    </details>
  );
}

/** The price of the request as it is typed. It costs nothing to ask. */
const useQuote = (api: ClientApi, { model, projectId, body }: { model: Model; projectId: string; body: object }) => {
  const [settled] = useDebouncedValue(body, 250);
  return useQuery({
    queryKey: ['quote', projectId, settled],
    queryFn: ({ signal }) =>
      api.json<Quote>(createPath(model.type), { method: 'POST', body: { ...settled, dry_run: true }, signal }),
    placeholderData: keepPreviousData,
    retry: false,
  });
};

function Price({ quote }: { quote: Quote | undefined }) {
  return (
    <Text component="div" size="sm" flex={1} miw={120} role="status" aria-live="polite">
      {quote === undefined ? (
        <Text span c="dimmed">
          No price yet
        </Text>
      ) : (
        <>
          <Text fw={600}>{credits(quote.credits.quoted)}</Text>
          <Text size="xs" c={quote.balance.sufficient ? 'dimmed' : 'red'}>
            {quote.balance.sufficient
              ? `of ${credits(quote.balance.available)} left`
              : `not enough: ${credits(quote.balance.available)} left, or the daily cap is used up`}
          </Text>
        </>
      )}
    </Text>
  );
}

/** Runs requests one after the other or together, and keeps what each made until the page is left. */
function useGenerate(
  api: ClientApi,
  model: Model,
  projectId: string,
  setRuns: React.Dispatch<React.SetStateAction<Run[]>>,
) {
  const queryClient = useQueryClient();
  const left = useRef<AbortController | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    left.current = controller;
    return () => controller.abort();
  }, []);
  return useMutation({
    mutationFn: async (body: Record<string, unknown>) => {
      const id = `${Date.now()}-${Math.random()}`;
      const update = (changes: Partial<Run>): void =>
        setRuns((runs) => runs.map((run) => (run.id === id ? { ...run, ...changes } : run)));
      setRuns((runs) =>
        [{ id, startedAt: Date.now(), prompt: promptOf(body), task: null, error: null }, ...runs].slice(0, runsMax),
      );
      const signal = left.current?.signal ?? new AbortController().signal;
      const onChange = (task: Task): void => update({ task });
      await runTask(api, { type: model.type, body, signal, onChange }).catch((error: unknown) => {
        if (!signal.aborted) update({ error });
      });
      update({ endedAt: Date.now() });
    },
    onSettled: () =>
      Promise.all(
        [['quote'], ['projects'], ['project', projectId]].map((queryKey) =>
          queryClient.invalidateQueries({ queryKey }),
        ),
      ),
  });
}

const runsMax = 12;
const promptOf = (body: Record<string, unknown>): string =>
  typeof body['prompt'] === 'string' ? body['prompt'] : words(String(body['model']));
