import { Button, Card, Grid, Group, Stack, Text, Textarea } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { createPath, type ClientApi } from '../../api/playground.ts';
import { ApiError } from '../../api/request.ts';
import type { Model, Quote } from '../../api/client-types.ts';
import { credits } from '../../ui/format.ts';
import { PlaygroundIcon } from '../../ui/icons.tsx';
import { ErrorAlert } from '../../ui/page.tsx';
import { takesPictures } from './attached-pictures.tsx';
import { CodeButton } from './code-panel.tsx';
import type { Draft } from './draft.ts';
import { FieldInput } from './field-input.tsx';
import { fieldsOf, fittingValues, initialValues, mediaInputsOf, requestBody, type Values } from './form-fields.ts';
import { MediaInputField } from './media-input.tsx';
import { uploadPicture } from './uploaded-pictures.ts';
import { Results, type Run } from './results.tsx';
import { useGenerate } from './use-generate.ts';

interface MediaFormProps {
  api: ClientApi;
  model: Model;
  /** Makes the same beside it. */
  other: Model | undefined;
  projectId: string;
  draft: Draft;
}

/** The form of a picture or video model, drawn from its catalog entry, and what it made. */
export function MediaForm({ api, model, other, projectId, draft }: MediaFormProps) {
  const { values, set } = useValues(model, draft);
  const [runs, setRuns] = useState<Run[]>([]);
  const body = useMemo(() => requestBody(model, values), [model, values]);
  const quote = useQuote(api, { model, projectId, body });
  const generate = useGenerate(api, projectId, setRuns);
  const models = other ? [model, other] : [model];
  const upload = useUploads(api, model, values, set);
  const { errorOf, elsewhere } = refusalOf(model, quote.error);

  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Card withBorder component="section" aria-label="Request">
          <form
            onSubmit={(event) => {
              event.preventDefault();
              generate.mutate([
                { model, body },
                ...(other ? [{ model: other, body: bodyOfOther(other, values) }] : []),
              ]);
            }}
            {...takesPictures(upload.add)}
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
              {fieldsOf(model).map((field) => (
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
              {other && <OtherPrice api={api} model={other} projectId={projectId} values={values} />}
              {upload.error && <ErrorAlert error={upload.error} />}
            </Stack>
          </form>
        </Card>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Results
          runs={runs}
          type={model.type === 'video' ? 'video' : 'image'}
          models={models.map(({ display_name: name }) => name)}
        />
      </Grid.Col>
    </Grid>
  );
}

/** What the form has. A prompt that was typed for another model comes with it. */
function useValues(model: Model, draft: Draft) {
  const [values, setValues] = useState<Values>(() => ({
    ...initialValues(model),
    ...(draft.prompt !== undefined && { prompt: draft.prompt }),
  }));
  const set = (key: string) => (value: Values[string]) => {
    if (key === 'prompt' && typeof value === 'string') draft.keep(value);
    setValues((before) => ({ ...before, [key]: value }));
  };
  return { values, set };
}

const bodyOfOther = (other: Model, values: Values) => requestBody(other, fittingValues(other, values));

/** What the model beside it would cost, or why it refuses the request. */
function OtherPrice({
  api,
  model,
  projectId,
  values,
}: {
  api: ClientApi;
  model: Model;
  projectId: string;
  values: Values;
}) {
  const body = useMemo(() => bodyOfOther(model, values), [model, values]);
  const quote = useQuote(api, { model, projectId, body });
  return (
    <>
      <Group gap="sm">
        <Text size="sm">{model.display_name}:</Text>
        <Price quote={quote.error ? undefined : quote.data} />
      </Group>
      {quote.error && <ErrorAlert error={quote.error} />}
    </>
  );
}

/** The message beside the field that a refusal names, and the refusal itself if the form has no such field. */
function refusalOf(model: Model, error: Error | null) {
  const refusal = error instanceof ApiError ? error : null;
  const shown = ['prompt', 'negative_prompt', ...mediaInputsOf(model), ...fieldsOf(model).map(({ key }) => key)];
  return {
    errorOf: (key: string): string | undefined => (refusal?.param === key ? refusal.message : undefined),
    elsewhere: error && (refusal?.param == null || !shown.includes(refusal.param)) ? error : null,
  };
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
  // What was pasted or refused is shown.
  const isOpen =
    inputs.some((key) => values[key] !== undefined) ||
    ['negative_prompt', ...inputs].some((key) => errorOf(key) !== undefined);
  if (!takesNegative && inputs.length === 0) return null;
  return (
    <details className="more-options" {...(isOpen && { open: true })}>
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
    // Not read again until the request changes, because a refused one would be refused every time.
    staleTime: 300_000,
  });
};

/** Pictures that are pasted or dropped become the first input of the model that takes one. */
function useUploads(
  api: ClientApi,
  model: Model,
  values: Values,
  set: (key: string) => (value: Values[string]) => void,
) {
  const [name] = mediaInputsOf(model).filter((input) => input === 'image' || input === 'reference_images');
  const { mutate, error } = useMutation({
    mutationFn: async (files: File[]) => {
      if (name === undefined) throw new Error(`${model.display_name} takes no picture.`);
      const ids = await Promise.all(files.map((file) => uploadPicture(api, file)));
      const before = values[name];
      set(name)(name === 'image' ? ids.at(-1) : [...(Array.isArray(before) ? before : []), ...ids]);
    },
  });
  return { error, add: (files: File[]) => files.length > 0 && mutate(files) };
}

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
