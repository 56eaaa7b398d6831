import { Card, Group, SegmentedControl, SimpleGrid, Table, Text, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { read } from '../../api/admin.ts';
import { useProjectNames } from '../../api/project-names.ts';
import type { ListedDelivery, Spend } from '../../api/admin-types.ts';
import { number, percent } from '../../ui/format.ts';
import { PageLink } from '../../ui/links.tsx';
import { Loaded } from '../../ui/page.tsx';

type SpendRow = Spend['data'][number];

const ranges = [
  { value: '1', label: 'Hour' },
  { value: '24', label: 'Day' },
  { value: '168', label: 'Week' },
];
const groups = ['channel', 'model', 'project'] as const;
const rowsMax = 5;
/** Callbacks that are counted for the receivers. */
const callbacksMax = 500;

/** The channels, models, projects and receivers with the most failures of a range. Each opens what failed. */
export function WhatFails() {
  const { range = '24' } = useSearch({ from: '/overview' });
  const navigate = useNavigate();
  const failing = useQuery({
    queryKey: ['overview-failing', range],
    queryFn: () => readFailing(Number(range)),
    placeholderData: keepPreviousData,
  });
  const projectName = useProjectNames();
  const since = { created_after: `${range}h` };
  return (
    <Card withBorder component="section" aria-labelledby="failing">
      <Group justify="space-between" mb="md" gap="sm">
        <Title order={2} size="h4" id="failing">
          What fails
        </Title>
        <SegmentedControl
          aria-label="Range"
          data={ranges}
          value={range}
          onChange={(next) => void navigate({ to: '/overview', search: { range: next } })}
        />
      </Group>
      <Loaded of={failing}>
        {({ channel, model, project, receivers }) => (
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
            <Failing
              title="Channels"
              rows={channel.map((row) =>
                failingRow(row, row.channel_id, row.channel ?? 'None was called', {
                  ...since,
                  channel: row.channel ?? '',
                }),
              )}
            />
            <Failing
              title="Models"
              rows={model.map((row) => failingRow(row, row.model, row.model, { ...since, model: row.model ?? '' }))}
            />
            <Failing
              title="Projects"
              rows={project.map((row) =>
                failingRow(row, row.project_id, row.project_name || row.project_id, {
                  ...since,
                  project: row.project_id ?? '',
                }),
              )}
            />
            <Failing
              title="Receivers of callbacks"
              rows={receivers.map(({ projectId, failed, all }) => ({
                id: projectId,
                name: (
                  <PageLink to="/deliveries" search={{ ...since, project: projectId, sort: '-attempts' }}>
                    {projectName(projectId)}
                  </PageLink>
                ),
                failed,
                share: failed / all,
              }))}
            />
          </SimpleGrid>
        )}
      </Loaded>
    </Card>
  );
}

async function readFailing(hours: number) {
  const to = Math.floor(Date.now() / 1_000);
  const range = { from: to - hours * 3_600, to };
  const [channel, model, project, callbacks] = await Promise.all([
    ...groups.map((group) => read('/usage', { ...range, group_by: group, top: rowsMax, top_by: 'failed' })),
    read('/deliveries', { created_after: String(range.from), limit: callbacksMax }),
  ] as const);
  const failing = (spend: Spend | undefined): SpendRow[] =>
    (spend?.data ?? []).filter(({ failed, is_rest: isRest }) => failed > 0 && !isRest);
  return {
    channel: failing(channel as Spend),
    model: failing(model as Spend),
    project: failing(project as Spend),
    receivers: receiversOf((callbacks as { data: ListedDelivery[] }).data),
  };
}

/** The projects of the newest callbacks with the most that were not taken. */
function receiversOf(callbacks: readonly ListedDelivery[]) {
  const byProject = Map.groupBy(callbacks, ({ project_id: id }) => id);
  const isFailing = ({ state, attempts }: ListedDelivery): boolean =>
    state === 'pending' ? attempts > 0 : state !== 'delivered' && state !== 'replaced';
  return [...byProject]
    .map(([projectId, all]) => ({ projectId, failed: all.filter(isFailing).length, all: all.length }))
    .filter(({ failed }) => failed > 0)
    .toSorted((a, b) => b.failed - a.failed)
    .slice(0, rowsMax);
}

/** A row of failures that opens the requests that failed. */
const failingRow = (
  { failed, requests }: SpendRow,
  id: string | null,
  name: string | null,
  search: Record<string, string>,
): FailingRow => ({
  id: id ?? '',
  name: (
    <PageLink to="/requests" search={{ ...search, outcome: 'refunded' }}>
      {name}
    </PageLink>
  ),
  failed,
  share: requests === 0 ? 0 : failed / requests,
});

interface FailingRow {
  id: string;
  name: ReactNode;
  failed: number;
  share: number;
}

function Failing({ title, rows }: { title: string; rows: FailingRow[] }) {
  return (
    <div>
      <Title order={3} size="h6" mb={4}>
        {title}
      </Title>
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          Nothing failed
        </Text>
      ) : (
        <Table aria-label={`${title} that fail`} layout="fixed">
          <Table.Tbody>
            {rows.map(({ id, name, failed, share }) => (
              <Table.Tr key={id}>
                <Table.Td className="breakable">{name}</Table.Td>
                <Table.Td ta="right" w="8rem">
                  {number(failed)} ({percent(share)})
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </div>
  );
}
