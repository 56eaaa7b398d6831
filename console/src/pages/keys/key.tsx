import { Button, Card, Group, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { read } from '../../api/admin.ts';
import { keyQuery } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import type { ShownKey } from '../../api/admin-types.ts';
import { DataTable } from '../../ui/data-table.tsx';
import { number, time } from '../../ui/format.ts';
import { Actor, PageLink, ResourceLink, ResourceLinks } from '../../ui/links.tsx';
import { Empty, Loaded, Page } from '../../ui/page.tsx';
import { scopeLabels } from '../../ui/scope-labels.ts';
import { Copyable, Facts, Status, When } from '../../ui/values.tsx';
import { ofLimit } from '../projects/keys.tsx';
import { requestColumns } from '../requests/request-columns.tsx';
import { KeyActionDialog, nameOf, type KeyAction } from './key-action-dialog.tsx';

const latestRequestsMax = 10;

/** One key: whose it is, what it may do, each limit with its use, and its latest requests. */
export default function KeyPage() {
  const { keyId } = useParams({ from: '/keys/$keyId' });
  const key = useQuery(keyQuery(keyId));
  return (
    <Page
      title={nameOf(key.data ?? null) || 'Key'}
      about={<Copyable text={keyId} label="Copy the id" wrap />}
      actions={key.data && <KeyActions of={key.data} />}
    >
      <Loaded of={key}>
        {(data) => (
          <>
            <Card withBorder>
              <Facts of={aboutOf(data)} />
            </Card>
            <Card withBorder component="section" aria-labelledby="limits">
              <Title order={2} size="h4" id="limits" mb="sm">
                Limits and their use
              </Title>
              <Facts of={limitsOf(data)} />
            </Card>
          </>
        )}
      </Loaded>
      <LatestRequests keyId={keyId} />
    </Page>
  );
}

function KeyActions({ of: key }: { of: ShownKey }) {
  const isOwner = useMay('owner');
  const mayChange = useMay('operator');
  const [action, setAction] = useState<KeyAction | null>(null);
  const canAct = mayChange && key.state !== 'revoked';
  const act = (kind: KeyAction['kind']) => (): void => setAction({ kind, key });
  return (
    <>
      {canAct && !key.playground && (
        <Button variant="default" onClick={act('edit')}>
          Change its limits
        </Button>
      )}
      {canAct && isOwner && !key.playground && (
        <Button variant="default" onClick={act('rotate')}>
          New secret
        </Button>
      )}
      {canAct && (
        <Button variant="default" c="red" onClick={act('revoke')}>
          Revoke
        </Button>
      )}
      <KeyActionDialog projectId={key.project_id} action={action} onClose={() => setAction(null)} />
    </>
  );
}

const aboutOf = (key: ShownKey): [string, React.ReactNode][] => [
  ['Project', <ResourceLink key="project" of="project" id={key.project_id} name={key.project_name} />],
  ['State', <Status key="state" of={key.state} />],
  ['Secret', key.prefix && <code key="secret">{`${key.prefix}…${key.last4 ?? ''}`}</code>],
  ['May use', key.scopes.map((scope) => scopeLabels[scope]).join(', ')],
  ['Models', modelsOf(key)],
  ['Addresses', key.ip_ranges?.join(', ') ?? 'Any'],
  [
    'Notes',
    Object.entries(key.metadata)
      .map(([name, value]) => `${name}: ${value}`)
      .join(', '),
  ],
  ['Last used', <When key="used" at={key.last_used_at} absent="Never" />],
  ['Expires', key.expires_at === null ? 'Never' : time(key.expires_at)],
  ['Revoked', key.revoked_at && time(key.revoked_at)],
  ['Created', time(key.created_at)],
  ['Created by', key.created_by === null ? 'Not known' : <Actor key="by" of={key.created_by} />],
];

/** A glob names no single model, so there is no page to link to. */
const modelsOf = ({ models }: ShownKey): React.ReactNode => {
  if (models === null) return 'All models';
  if (models.some((name) => name.includes('*'))) return models.join(', ');
  return <ResourceLinks of="model" ids={models} none="None" />;
};

const limitsOf = (key: ShownKey): [string, React.ReactNode][] => [
  [
    'Requests per minute',
    key.rpm === null ? 'No limit' : `${number(key.requests ?? 0)} of ${number(key.rpm)} in the last 60 seconds`,
  ],
  [
    'Requests at the same time',
    key.in_flight_max === null
      ? `${number(key.in_flight)}, no limit of its own`
      : `${number(key.in_flight)} of ${number(key.in_flight_max)}`,
  ],
  ['Credits today (UTC)', ofLimit(key.used_today, key.budget_daily)],
  ['Credits this month (UTC)', ofLimit(key.used_this_month, key.budget_monthly)],
  ['Credits in all', ofLimit(key.spent + key.reserved, key.budget)],
  ['Held by running requests', key.reserved > 0 && ofLimit(key.reserved, null)],
];

function LatestRequests({ keyId }: { keyId: string }) {
  const latest = useQuery({
    queryKey: ['/requests', { key: keyId }, 'latest'],
    queryFn: () => read('/requests', { key: keyId, limit: latestRequestsMax }),
  });
  return (
    <div>
      <Group justify="space-between" mb="sm" gap="sm">
        <Title order={2} size="h4">
          Latest requests
        </Title>
        <Group gap="md">
          <PageLink to="/requests" search={{ key: keyId }} size="sm">
            All of its requests
          </PageLink>
          <PageLink to="/audit" search={{ subject: keyId }} size="sm">
            Changes of the key
          </PageLink>
        </Group>
      </Group>
      <Loaded of={latest}>
        {({ data }) => (
          <DataTable
            label="Latest requests"
            rows={data}
            columns={latestColumns}
            rowId={(row) => row.request_id}
            empty={<Empty title="No request yet" />}
          />
        )}
      </Loaded>
    </div>
  );
}

/** The page of one key needs no column of the project. */
const latestColumns = requestColumns.filter(({ id }) => id !== 'project');
