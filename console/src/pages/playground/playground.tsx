import { Alert, Card, NumberInput, Select, SimpleGrid, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { clientApi, modelsQuery, type ClientApi, type Wallet } from '../../api/playground.ts';
import { useMay } from '../../api/session.ts';
import type { Project } from '../../api/admin-types.ts';
import type { Model, Task } from '../../api/client-types.ts';
import { creditsForUsd, money } from '../../ui/format.ts';
import { Empty, ErrorAlert, Loading, Page } from '../../ui/page.tsx';
import { Chat } from './chat.tsx';
import { History, promptOf } from './history.tsx';
import { PayingProject, richestQuery, useWithWanted } from './paying-project.tsx';
import { MediaForm } from './media-form.tsx';
import { AlertIcon } from '../../ui/icons.tsx';
import { PageButton } from '../../ui/links.tsx';
import { useChosen } from '../../ui/use-chosen.ts';

/** Tries every model with the credits of a project, as a client of the API would. */
export default function Playground() {
  const mayUse = useMay('operator');
  const projects = useQuery(richestQuery(''));
  return (
    <Page
      title="Playground"
      about="Try a model as a client would. Every request is charged to the project that you choose."
    >
      {!mayUse ? (
        <Alert color="yellow" title="You need the role operator">
          The playground spends credits of a project. Ask an owner for a token with the role operator.
        </Alert>
      ) : projects.data === undefined ? (
        projects.error ? (
          <ErrorAlert error={projects.error} retry={() => void projects.refetch()} />
        ) : (
          <Loading label="Loading the projects" />
        )
      ) : projects.data.data.length === 0 ? (
        <Card withBorder>
          <Empty title="There is no project yet">
            <Stack align="center" gap="sm">
              Requests are paid by a project. Create one and give it credits.
              <PageButton to="/projects">Create a project</PageButton>
            </Stack>
          </Empty>
        </Card>
      ) : (
        <Bench projects={projects.data.data} />
      )}
    </Page>
  );
}

/** Without a limit of the operator's choice, a day of trying things out costs at most this many US dollars. */
const usualDailyUsd = 10;

function Bench({ projects: richestOnes }: { projects: Project[] }) {
  const search = useSearch({ from: '/playground' });
  const projects = useWithWanted(richestOnes, search.project);
  const navigate = useNavigate();
  const usualDailyCap = creditsForUsd(usualDailyUsd);
  const [cap, setCap] = useState<number | string>(usualDailyCap);
  const [settledCap] = useDebouncedValue(cap, 600);
  const idOfProject = ({ project_id: id }: Project): string => id;
  const project = useChosen(projects, { idOf: idOfProject, wanted: search.project, usual: richest });
  const queryClient = useQueryClient();
  const projectId = project?.project_id ?? '';
  const budgetDaily = typeof settledCap === 'number' && settledCap > 0 ? settledCap : usualDailyCap;
  const wallet = useMemo((): Wallet => ({ projectId, budgetDaily }), [projectId, budgetDaily]);
  const api = useMemo(() => clientApi(queryClient, wallet), [queryClient, wallet]);
  const models = useQuery({ ...modelsQuery(api, wallet), enabled: projectId !== '' });
  const model = useChosen(models.data, { idOf: ({ id }: Model) => id, wanted: search.model, usual: firstToTry });
  const isUnusable =
    search.model !== undefined && models.data !== undefined && !models.data.some(({ id }) => id === search.model);
  const choose = (changes: { model?: string; project?: string; compare?: string | undefined }): void =>
    void navigate({ to: '/playground', search: { ...search, ...changes }, replace: true });

  const comparable = (models.data ?? []).filter(({ id, type }) => type === model?.type && id !== model.id);
  const other = comparable.find(({ id }) => id === search.compare);

  return (
    <Stack>
      <Card withBorder>
        <SimpleGrid cols={{ base: 1, sm: 2 }} className="fields">
          <Select
            label="Model"
            data={grouped(models.data ?? [])}
            value={isUnusable ? null : (model?.id ?? null)}
            onChange={(id) => id !== null && choose({ model: id })}
            allowDeselect={false}
            searchable
            disabled={models.data === undefined}
            placeholder={models.isPending ? 'Loading …' : 'Choose a model'}
            nothingFoundMessage="No model has this name"
          />
          <ComparedModel models={comparable} value={other} choose={(compare) => choose({ compare })} />
          <PayingProject projects={projects} chosen={project} choose={(id) => choose({ project: id })} />
          <DailyCap value={cap} onChange={setCap} usual={usualDailyCap} />
        </SimpleGrid>
      </Card>
      {models.data === undefined ? (
        models.error ? (
          <ErrorAlert error={models.error} retry={() => void models.refetch()} />
        ) : (
          <Loading label="Loading the models" />
        )
      ) : isUnusable ? (
        <UnusableModel id={search.model ?? ''} />
      ) : model === undefined ? (
        <Card withBorder>
          <Empty title="The catalog has no model on offer">Apply a catalog: npx tollgate catalog apply FILE</Empty>
        </Card>
      ) : (
        <ModelBench api={api} wallet={wallet} model={model} other={other} choose={choose} />
      )}
    </Stack>
  );
}

function DailyCap({
  value,
  onChange,
  usual,
}: {
  value: number | string;
  onChange: (value: number | string) => void;
  usual: number;
}) {
  return (
    <NumberInput
      label="Daily cap in credits"
      description={typeof value === 'number' ? `${money(value)} a day` : undefined}
      value={value}
      onChange={onChange}
      min={1}
      max={1_000_000_000_000}
      step={Math.max(1, Math.round(usual / 10))}
      allowDecimal={false}
      thousandSeparator=","
    />
  );
}

/** The address names a model that is not on offer. */
function UnusableModel({ id }: { id: string }) {
  return (
    <Alert color="red" role="alert" icon={<AlertIcon />} title={`The model ${id} cannot be used`}>
      It is hidden, retired or not in the catalog, or this project may not use it. Choose another model above: none is
      chosen for you, because it costs credits.
    </Alert>
  );
}

/** The model that the same is asked of, side by side. */
function ComparedModel({
  models,
  value,
  choose,
}: {
  models: Model[];
  value: Model | undefined;
  choose: (id: string | undefined) => void;
}) {
  return (
    <Select
      label="Compare with"
      placeholder="No other model"
      data={models.map(({ id, display_name: label }) => ({ value: id, label }))}
      value={value?.id ?? null}
      onChange={(id) => choose(id ?? undefined)}
      clearable
      clearButtonProps={{ 'aria-label': 'Compare with no other model' }}
      searchable
      disabled={models.length === 0}
      nothingFoundMessage="No model of this kind has this name"
    />
  );
}

/** Asks the chosen model, and another one beside it. What was typed stays when the model changes. */
function ModelBench({
  api,
  wallet,
  model,
  other,
  choose,
}: {
  api: ClientApi;
  wallet: Wallet;
  model: Model;
  other: Model | undefined;
  choose: (changes: { model: string; compare: undefined }) => void;
}) {
  const [prompt, setPrompt] = useState('');
  const [reused, setReused] = useState('');
  const draft = { prompt: prompt === '' ? undefined : prompt, keep: setPrompt };
  const reuse = (task: Task): void => {
    setPrompt(promptOf(task));
    setReused(task.task_id);
    choose({ model: task.model, compare: undefined });
  };
  return (
    <Stack gap="sm">
      {model.description !== null && (
        <Text size="sm" c="dimmed">
          {model.description}
        </Text>
      )}
      {model.type === 'chat' ? (
        <Chat api={api} models={other ? [model, other] : [model]} draft={draft} />
      ) : (
        <>
          <MediaForm
            key={`${model.id} ${reused}`}
            api={api}
            model={model}
            other={other}
            projectId={wallet.projectId}
            draft={draft}
          />
          <History api={api} wallet={wallet} reuse={reuse} />
        </>
      )}
    </Stack>
  );
}

const richest = (projects: readonly Project[]): Project | undefined =>
  projects.toSorted((a, b) => b.balance - a.balance)[0];

/** The model of the demonstration, which the sandbox serves without a provider; else the first picture model. */
const firstToTry = (models: readonly Model[]): Model | undefined =>
  models.find(({ owned_by: vendor }) => vendor === 'aurora-labs') ??
  models.find(({ type }) => type === 'image') ??
  models[0];

const kinds = { image: 'Pictures', video: 'Videos', chat: 'Chat' };

const grouped = (models: Model[]) =>
  (['image', 'video', 'chat'] as const)
    .map((type) => ({
      group: kinds[type],
      items: models.filter((model) => model.type === type).map(({ id, display_name: label }) => ({ value: id, label })),
    }))
    .filter(({ items }) => items.length > 0);
