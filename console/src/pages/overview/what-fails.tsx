import { Card, SimpleGrid, Table, Text, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { read } from '../../api/admin.ts';
import type { ListedDelivery, RangeOverview, Spend } from '../../api/admin-types.ts';
import { number, percent } from '../../ui/format.ts';
import { PageLink } from '../../ui/links.tsx';
import { Loaded } from '../../ui/page.tsx';
import { failedOf } from '../usage/usage-view.ts';
import { requestsOf } from './range-figures.tsx';

type SpendRow = Spend['data'][number];

const groups = ['channel', 'model', 'project'] as const;
const rowsMax = 5;
/** The most callbacks that are counted for the receivers. A page of large ones has fewer. */
const callbacksMax = 500;

/** The channels, models, projects and receivers with the most failures of a range. Each opens what failed. */
export function WhatFails({ range: { from, to, range } }: { range: RangeOverview }) {
  const failing = useQuery({
    // A range moves on with its bars, not with each second.
    queryKey: ['overview-failing', range, from],
    queryFn: () => readFailing(from),
    placeholderData: keepPreviousData,
  });
  const since = requestsOf({ from, to });
  return (
    <Card withBorder component="section" aria-labelledby="failing">
      <Title order={2} size="h4" id="failing" mb="md">
        What fails
      </Title>
      <Loaded of={failing}>
        {({ channel, model, project, receivers, isCut, counted }) => (
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
            <Failing
              title="Channels"
              rows={channel.map((row) =>
                failingRow(
                  row,
                  row.channel_id,
                  row.channel ?? 'None was called',
                  // No list has the requests for which no channel was called.
                  row.channel === null ? null : { ...since, channel: row.channel },
                ),
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
              note={isCut ? `Of the newest ${number(counted)} callbacks.` : undefined}
              rows={receivers.map(({ host, failed, all }) => ({
                id: host,
                name: (
                  <PageLink to="/deliveries" search={{ ...since, host, sort: '-attempts' }} fz="inherit">
                    {host}
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

async function readFailing(from: number) {
  const [channel, model, project, callbacks] = await Promise.all([
    ...groups.map((group) => read('/usage', { from, group_by: group, top: rowsMax, top_by: 'failed' })),
    read('/deliveries', { created_after: String(from), limit: callbacksMax }),
  ] as const);
  const failing = (spend: Spend | undefined): SpendRow[] =>
    (spend?.data ?? []).filter((row) => failedOf(row) > 0 && !row.is_rest);
  const { data: listed, has_more: isCut } = callbacks as { data: ListedDelivery[]; has_more: boolean };
  return {
    channel: failing(channel as Spend),
    model: failing(model as Spend),
    project: failing(project as Spend),
    receivers: receiversOf(listed),
    isCut,
    counted: listed.length,
  };
}

/** The hosts of the newest callbacks with the most that were not taken. An erased task has no address any more. */
function receiversOf(callbacks: readonly ListedDelivery[]) {
  const byHost = Map.groupBy(callbacks, ({ host }) => host);
  const isFailing = ({ state, attempts }: ListedDelivery): boolean =>
    state === 'pending' ? attempts > 0 : state !== 'delivered' && state !== 'replaced';
  return [...byHost]
    .flatMap(([host, all]) => (host === null ? [] : [{ host, failed: all.filter(isFailing).length, all: all.length }]))
    .filter(({ failed }) => failed > 0)
    .toSorted((a, b) => b.failed - a.failed)
    .slice(0, rowsMax);
}

/** A row of failures that opens the requests that failed. */
const failingRow = (
  row: SpendRow,
  id: string | null,
  name: string | null,
  search: Record<string, string> | null,
): FailingRow => ({
  id: id ?? '',
  name: search ? (
    <PageLink to="/requests" search={{ ...search, outcome: 'failed' }} fz="inherit">
      {name}
    </PageLink>
  ) : (
    name
  ),
  failed: failedOf(row),
  share: row.requests === 0 ? 0 : failedOf(row) / row.requests,
});

interface FailingRow {
  id: string;
  name: ReactNode;
  failed: number;
  share: number;
}

function Failing({ title, rows, note }: { title: string; rows: FailingRow[]; note?: string | undefined }) {
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
        <Table aria-label={`${title} that fail`} className="listed">
          <Table.Tbody>
            {rows.map(({ id, name, failed, share }) => (
              <Table.Tr key={id}>
                <Table.Td className="breakable">{name}</Table.Td>
                <Table.Td ta="right" className="nowrap">
                  {number(failed)} ({percent(share)})
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {note !== undefined && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </div>
  );
}
