import { Alert, Button, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import { planQuery, plansQuery } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import type { PlannedModel, PlanPreview, PlanRule } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { DataTable, numeric, type Columns } from '../../ui/data-table.tsx';
import { number } from '../../ui/format.ts';
import { PageLink } from '../../ui/links.tsx';
import { Empty, Loaded, Page } from '../../ui/page.tsx';
import { Status } from '../../ui/values.tsx';
import { planPriceText, Prices } from '../models/prices.tsx';
import { PlanDialog } from './plan-dialog.tsx';

/** One plan: its rules, and the price of every model under it. */
export default function PlanPage() {
  const { planName } = useParams({ from: '/plans/$planName' });
  const plan = useQuery(planQuery(planName));
  const mayAct = useMay('operator');
  return (
    <Page
      title={planName}
      about={
        plan.data && (
          <PageLink to="/projects" search={{ plan: planName }}>
            {number(plan.data.projects)} {plan.data.projects === 1 ? 'project has' : 'projects have'} this plan
          </PageLink>
        )
      }
      actions={mayAct && plan.data && <PlanActions plan={plan.data} />}
    >
      <Loaded of={plan}>
        {({ rules, models, unused }) => (
          <>
            {unused.length > 0 && (
              <Alert color="orange" title="Rules that decide no price">
                {unused.map(({ message }) => message).join(' ')}
              </Alert>
            )}
            <Title order={2} size="h4">
              Rules
            </Title>
            <DataTable
              label="Rules"
              rows={rules.map((rule, index) => ({ rule, number: index + 1 }))}
              columns={ruleColumns}
              rowId={(row) => String(row.number)}
              empty={<Empty title="There are no rules" />}
            />
            <Title order={2} size="h4">
              Prices
            </Title>
            <DataTable
              label="Prices"
              rows={models}
              columns={priceColumns}
              rowId={(row) => row.model}
              empty={<Empty title="The catalog is empty" />}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function PlanActions({ plan }: { plan: PlanPreview }) {
  const [action, setAction] = useState<'change' | 'delete' | null>(null);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const close = (): void => setAction(null);
  return (
    <>
      <Button onClick={() => setAction('change')}>Change the rules</Button>
      <Button variant="default" onClick={() => setAction('delete')}>
        Delete
      </Button>
      {action === 'change' && <PlanDialog plan={plan} onClose={close} />}
      <ActionDialog
        opened={action === 'delete'}
        onClose={close}
        title={`Delete ${plan.name}`}
        about="A plan that projects have cannot be deleted: give them another one first."
        act="Delete"
        danger
        run={() => change('post', '/plans/{name}/delete', { name: plan.name })}
        done={() => `Deleted ${plan.name}.`}
        onDone={() => {
          queryClient.removeQueries({ queryKey: planQuery(plan.name).queryKey });
          void queryClient.invalidateQueries({ queryKey: plansQuery.queryKey });
          void navigate({ to: '/plans' });
        }}
      />
    </>
  );
}

const ruleColumns: Columns<{ rule: PlanRule; number: number }> = [
  { accessorKey: 'number', header: 'Rule', enableSorting: false },
  { id: 'models', header: 'Models', accessorFn: ({ rule }) => rule.models, enableSorting: false },
  {
    id: 'price',
    header: 'Price',
    enableSorting: false,
    accessorFn: ({ rule }) => ('multiplier' in rule ? `× ${rule.multiplier}` : planPriceText(rule.prices)),
  },
];

function PlanPrice({ of: { pricing, pricingRules } }: { of: PlannedModel['plan'] }) {
  return <Prices of={{ pricing, parameters: pricingRules ? { pricingRules } : {} }} />;
}

const priceColumns: Columns<PlannedModel> = [
  {
    accessorKey: 'model',
    header: 'Model',
    cell: ({ row: { original } }) => (
      <PageLink to="/models/$modelId" params={{ modelId: original.model }} fw={500} fz="inherit">
        {original.model}
      </PageLink>
    ),
  },
  {
    id: 'state',
    header: 'Status',
    accessorFn: ({ state }) => state,
    cell: ({ row: { original } }) => <Status of={original.state} />,
  },
  { id: 'rule', header: 'Rule', accessorFn: ({ rule }) => rule ?? 'None', ...numeric },
  {
    id: 'catalog',
    header: 'In the catalog',
    enableSorting: false,
    cell: ({ row: { original } }) => <PlanPrice of={original.catalog} />,
  },
  {
    id: 'plan',
    header: 'Under the plan',
    enableSorting: false,
    cell: ({ row: { original } }) => <PlanPrice of={original.plan} />,
  },
];
