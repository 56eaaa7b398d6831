import { Badge, Button, Card, Group, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { channelsQuery, modelQuery } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import type { CatalogEntry, Channel, Margin, VersionedCatalogEntry } from '../../api/admin-types.ts';
import { DataTable, figure, numeric, type Columns } from '../../ui/data-table.tsx';
import { creditsCell, percent, usd, words } from '../../ui/format.ts';
import { Empty, Loaded, Page } from '../../ui/page.tsx';
import { Copyable, Facts, Status } from '../../ui/values.tsx';
import { EditModel } from './edit-model.tsx';
import { useMargins } from './margins.ts';
import { conditionsText } from './price-fields.ts';
import { Prices } from './prices.tsx';
import { stateWords } from '../state-words.ts';
import { PageButton, ResourceLink } from '../../ui/links.tsx';

/** One model: its price, what it earns, and the channels that serve it. */
export default function ModelPage() {
  const { modelId } = useParams({ from: '/models/$modelId' });
  const model = useQuery(modelQuery(modelId));
  const mayEdit = useMay('operator');
  const [editing, setEditing] = useState(false);
  return (
    <Page
      title={model.data?.display_name ?? 'Model'}
      about={<Copyable text={modelId} label="Copy the id" />}
      actions={
        <>
          {model.data && (
            <PageButton to="/playground" search={{ model: modelId }} variant="default">
              Try it
            </PageButton>
          )}
          {mayEdit && model.data && <Button onClick={() => setEditing(true)}>Edit</Button>}
        </>
      }
    >
      <Loaded of={model}>
        {(entry) => (
          <>
            <Card withBorder>
              <Facts
                of={[
                  ['Vendor', entry.owned_by],
                  ['Type', words(entry.type)],
                  ['Status', <Status key="status" of={entry.state} />],
                  ['Offered until', entry.private.ends_on && `${entry.private.ends_on}, 00:00 UTC`],
                  ['Offered to clients', offeredWords(entry)],
                  ['Credits', <Prices key="credits" of={entry} />],
                  ['Groups', entry.private.groups.join(', ')],
                  ['Aliases', Object.keys(entry.private.aliases).join(', ')],
                  ['Description', entry.description],
                ]}
              />
            </Card>
            <Margins entry={entry} />
            <ServedBy entry={entry} />
            {editing && <EditModel entry={entry} onClose={() => setEditing(false)} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Why clients cannot use a model whose state leaves that open; null where its state says it. */
const offeredWords = ({ state, status }: VersionedCatalogEntry): string | null =>
  state === 'ending' && status !== 'active' ? `No, its status is ${status}` : null;

function Margins({ entry }: { entry: CatalogEntry }) {
  const margins = useMargins([entry]);
  return (
    <section aria-labelledby="margins">
      <Title order={2} size="h4" id="margins" mb="sm">
        What a request earns
      </Title>
      <Loaded of={margins}>
        {(byModel) => (
          <DataTable
            label="Margins"
            rows={shownMargins(byModel.get(entry.id) ?? [])}
            columns={marginColumns}
            rowId={(row) => JSON.stringify(row)}
            empty={<Empty title="Nothing is known of its costs" />}
          />
        )}
      </Loaded>
    </section>
  );
}

/** Where every request costs and earns the same, the cheapest is the dearest, and stands for all. */
const shownMargins = (margins: Margin[]): (Omit<Margin, 'request'> & { request: string })[] =>
  margins.flatMap((margin) => {
    if (!margins.some((other) => other !== margin && factsOf(other) === factsOf(margin))) return [margin];
    return margin.request === 'cheapest' ? [{ ...margin, request: 'every', asked: {} }] : [];
  });

const factsOf = (margin: Margin): string => JSON.stringify({ ...margin, request: undefined });

const marginColumns: Columns<ReturnType<typeof shownMargins>[number]> = [
  {
    id: 'request',
    header: 'Request',
    accessorFn: ({ request, unit }) => (unit === 'request' ? words(request) : `${words(request)}, ${unit}`),
  },
  { id: 'family', header: 'Adapter', accessorFn: ({ family }) => family ?? 'Any' },
  {
    id: 'asked',
    header: 'With',
    enableSorting: false,
    cell: ({ row: { original } }) => conditionsText(original.asked) || 'Anything',
  },
  figure('credits', 'Credits', { of: (margin) => margin.credits, show: creditsCell }),
  figure('price', 'Price', { of: (margin) => margin.price_micro_usd, show: usd }),
  figure('cost', 'Cost', { of: (margin) => margin.cost_micro_usd, show: usd }),
  {
    accessorKey: 'margin_micro_usd',
    header: 'Margin',
    cell: ({ row: { original: margin } }) => (
      <Text span fz="inherit" {...(margin.margin_micro_usd < 0 && { c: 'red' })}>
        {usd(margin.margin_micro_usd)}
        {margin.price_micro_usd > 0 && ` (${percent(margin.margin_micro_usd / margin.price_micro_usd)})`}
      </Text>
    ),
    ...numeric,
  },
];

function ServedBy({ entry }: { entry: CatalogEntry }) {
  const channels = useQuery(channelsQuery);
  const serves = ({ groups, adapter }: Channel): boolean =>
    groups.some((group) => entry.private.groups.includes(group)) && adapter in entry.private.upstream;
  return (
    <Card withBorder component="section" aria-labelledby="served">
      <Title order={2} size="h4" id="served" mb="sm">
        Served by
      </Title>
      <Loaded of={channels}>
        {({ data }) => {
          const serving = data.filter(serves);
          if (serving.length === 0)
            return (
              <Empty title="No channel serves this model">
                Add a channel of one of its groups: {entry.private.groups.join(', ')}.
              </Empty>
            );
          return (
            <Group gap="xs">
              {serving.map(({ channel_id: id, name, state, priority }) => (
                <Badge key={id} variant="default" size="lg" tt="none" fw={500}>
                  <ResourceLink of="channel" id={id} name={name} inline /> · priority {priority}
                  {state === 'ready' ? '' : ` · ${stateWords[state]}`}
                </Badge>
              ))}
            </Group>
          );
        }}
      </Loaded>
    </Card>
  );
}
