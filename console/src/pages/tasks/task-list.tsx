import { Button, Group, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { change, read } from '../../api/admin.ts';
import { isFinal, sameOrigin } from '../../api/playground.ts';
import { tasksPerPage } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import type { TaskRow } from '../../api/admin-types.ts';
import { useList } from '../../api/use-list.ts';
import { CsvButton } from '../../ui/csv-button.tsx';
import { DataTable, figure, numeric, type Columns } from '../../ui/data-table.tsx';
import { ChoiceFilter } from '../../ui/filters.tsx';
import { creditsCell, seconds } from '../../ui/format.ts';
import { ManyActions } from '../../ui/many-actions.tsx';
import { Empty, Loaded, Page } from '../../ui/page.tsx';
import { KeyFilter, ModelFilter, ProjectFilter } from '../../ui/picks.tsx';
import { RangeFilter } from '../../ui/range-filter.tsx';
import { useListView } from '../../ui/use-list-view.ts';
import { useNarrowed } from '../../ui/use-narrowed.ts';
import { Status, When } from '../../ui/values.tsx';
import { Owner, PageLink, ResourceLink } from '../../ui/links.tsx';

const statuses = ['queued', 'processing', 'succeeded', 'failed', 'canceled'];

/** Pictures and videos, newest first. */
export default function TaskList() {
  const view = useTaskView();
  const { search, order, isFiltered, showAll } = view;
  const [withPreviews, setWithPreviews] = useState(false);
  const mayRead = useMay('operator');
  const tasks = useList('/tasks', search, tasksPerPage);
  useNarrowed(tasks.error, search, view.show);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const columns = columnsOf(withPreviews);
  return (
    <Page
      title="Tasks"
      about="Every picture and video that clients asked for, with what became of it."
      actions={<CsvButton path="/tasks" filters={search} name="tasks" />}
    >
      <TaskFilters view={view} mayRead={mayRead} withPreviews={withPreviews} onPreviews={setWithPreviews} />
      {withPreviews && (
        <Text size="sm" c="dimmed">
          Reading results of clients is recorded in the audit log.
        </Text>
      )}
      {mayRead && (
        <CancelMany
          tasks={(tasks.data ?? []).filter((task) => chosen.has(task.task_id) && !isFinal(task))}
          onDone={() => setChosen(new Set())}
        />
      )}
      <Loaded of={tasks}>
        {(rows) => (
          <DataTable
            label="Tasks"
            rows={rows}
            columns={columns}
            rowId={(row) => row.task_id}
            more={tasks.more}
            order={order}
            choice={mayRead ? { chosen, onChange: setChosen } : undefined}
            empty={
              isFiltered ? (
                <Empty title="No task matches">
                  <Button variant="default" size="xs" onClick={showAll}>
                    Show all tasks
                  </Button>
                </Empty>
              ) : (
                <Empty title="No task yet">
                  Make the first one in the <PageLink to="/playground">playground</PageLink>.
                </Empty>
              )
            }
          />
        )}
      </Loaded>
    </Page>
  );
}

interface TaskFiltersProps {
  view: ReturnType<typeof useTaskView>;
  mayRead: boolean;
  withPreviews: boolean;
  onPreviews: (withPreviews: boolean) => void;
}

function TaskFilters({ view: { search, show, filter }, mayRead, withPreviews, onPreviews }: TaskFiltersProps) {
  return (
    <Group align="flex-end" gap="sm">
      <ChoiceFilter label="Status" value={search.status} onChange={filter('status')} options={statuses} />
      <ChoiceFilter
        label="Type"
        value={search.type}
        onChange={filter('type')}
        options={[
          { value: 'image', label: 'Picture' },
          { value: 'video', label: 'Video' },
        ]}
      />
      <ModelFilter value={search.model} onChange={filter('model')} />
      <ProjectFilter value={search.project} onChange={filter('project')} />
      <KeyFilter value={search.key} onChange={filter('key')} project={search.project} />
      <RangeFilter value={search} onChange={show} />
      <Switch
        label="Unknown outcome only"
        checked={search.unknown === 'true'}
        onChange={(event) => filter('unknown')(event.currentTarget.checked ? 'true' : undefined)}
        pb={8}
      />
      {mayRead && (
        <Switch
          label="Show pictures"
          checked={withPreviews}
          onChange={(event) => onPreviews(event.currentTarget.checked)}
          pb={8}
        />
      )}
    </Group>
  );
}

function useTaskView() {
  const search = useSearch({ from: '/tasks' });
  return { search, ...useListView('/tasks', search, sortColumns) };
}

const sortColumns = {
  task_id: 'task_id',
  model: 'model',
  project: 'project_name',
  status: 'status',
  attempts: 'attempts',
  credits: 'credits',
  created_at: 'created_at',
};

/** Ends several tasks, one after the other, and says how many it ended. */
function CancelMany({ tasks, onDone }: { tasks: readonly TaskRow[]; onDone: () => void }) {
  const ids = tasks.map(({ task_id: id }) => id);
  return (
    <ManyActions
      ids={ids}
      act="Cancel and refund"
      noun={['task that runs', 'tasks that run']}
      about="They end now and their credits are refunded, even if a provider has begun and bills a job. This cannot be undone."
      danger
      each={async (id) => (await change('post', '/tasks/{id}/cancel', { id })).ended}
      onDone={onDone}
    />
  );
}

const columnsOf = (withPreviews: boolean): Columns<TaskRow> => [
  {
    accessorKey: 'task_id',
    header: 'Task',
    enableSorting: false,
    cell: ({ row: { original: task } }) => (
      // One below the other, because a column of its own would not fit beside the others.
      <div className="pictured">
        {withPreviews && <Preview task={task} />}
        <ResourceLink of="task" id={task.task_id} short />
      </div>
    ),
  },
  {
    accessorKey: 'model',
    header: 'Model',
    cell: ({ row: { original: task } }) => <ResourceLink of="model" id={task.model} />,
  },
  {
    id: 'project',
    header: 'Project',
    accessorFn: (task) => task.project_name || task.project_id,
    cell: ({ row: { original: task } }) => <Owner of={task} />,
  },
  {
    accessorKey: 'status',
    header: 'Status',
    cell: ({ row: { original: task } }) => (
      <div className="states">
        <Status of={task.status} />
        {task.outcome_unknown && <Status of="unknown" />}
      </div>
    ),
  },
  { accessorKey: 'attempts', header: 'Attempts', ...numeric },
  figure('credits', 'Credits', { of: ({ credits }) => credits.charged || credits.reserved, show: creditsCell }),
  {
    id: 'took',
    header: 'Took',
    accessorFn: (task) => (task.completed_at === null ? Infinity : task.completed_at - task.created_at),
    cell: ({ row: { original: task } }) => (
      <span className="nowrap">
        {task.completed_at === null ? 'Not ended' : seconds(task.completed_at - task.created_at)}
      </span>
    ),
    ...numeric,
  },
  {
    accessorKey: 'created_at',
    header: 'Created',
    cell: ({ row: { original: task } }) => <When at={task.created_at} />,
  },
];

function Preview({ task }: { task: TaskRow }) {
  const content = useQuery({
    queryKey: ['task-content', task.task_id, task.status],
    queryFn: () => read('/tasks/{id}/content', { id: task.task_id }),
    enabled: task.status === 'succeeded',
    staleTime: Infinity,
  });
  const output = content.data?.output?.[0];
  if (output === undefined) return <div className="thumbnail" aria-hidden="true" />;
  const address = sameOrigin(output.url);
  return output.mime_type.startsWith('video/') ? (
    <video className="thumbnail" src={address} muted preload="metadata" aria-label="First frame of the video" />
  ) : (
    <img className="thumbnail" src={address} alt={`Result of ${task.task_id}`} loading="lazy" />
  );
}
