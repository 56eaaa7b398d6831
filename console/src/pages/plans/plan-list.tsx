import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { plansQuery } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import type { Plan } from '../../api/admin-types.ts';
import { DataTable, numeric, type Columns } from '../../ui/data-table.tsx';
import { PlusIcon } from '../../ui/icons.tsx';
import { PageLink } from '../../ui/links.tsx';
import { Empty, Loaded, Page } from '../../ui/page.tsx';
import { When } from '../../ui/values.tsx';
import { PlanDialog } from './plan-dialog.tsx';

/** The plans, by which projects have prices of their own. */
export default function PlanList() {
  const plans = useQuery(plansQuery);
  const mayCreate = useMay('operator');
  const [opened, setOpened] = useState(false);
  return (
    <Page
      title="Plans"
      about="A plan changes the prices of the catalog for the projects that have it."
      actions={
        mayCreate && (
          <Button leftSection={<PlusIcon size={16} />} onClick={() => setOpened(true)}>
            New plan
          </Button>
        )
      }
    >
      <Loaded of={plans}>
        {({ data }) => (
          <DataTable
            label="Plans"
            rows={data}
            columns={columns}
            rowId={(row) => row.plan_id}
            empty={<Empty title="There is no plan yet">Every project has the prices of the catalog.</Empty>}
          />
        )}
      </Loaded>
      {opened && <PlanDialog onClose={() => setOpened(false)} />}
    </Page>
  );
}

const columns: Columns<Plan> = [
  {
    accessorKey: 'name',
    header: 'Name',
    cell: ({ row: { original: plan } }) => (
      <PageLink to="/plans/$planName" params={{ planName: plan.name }} fw={500} fz="inherit">
        {plan.name}
      </PageLink>
    ),
  },
  { id: 'rules', header: 'Rules', accessorFn: ({ rules }) => rules.length, ...numeric },
  { accessorKey: 'projects', header: 'Projects', ...numeric },
  { accessorKey: 'updated_at', header: 'Changed', cell: ({ row: { original } }) => <When at={original.updated_at} /> },
];
