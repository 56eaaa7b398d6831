import { Title } from '@mantine/core';
import type { Account } from '../../api/admin-types.ts';
import { DataTable, figure, type Columns } from '../../ui/data-table.tsx';
import { creditsCell, time } from '../../ui/format.ts';

type Expiring = Account['expiring'][number];

/** The credits of a project that expire, the first end first; nothing if all of them last. */
export function ExpiringCredits({ credits }: { credits: Account['expiring'] }) {
  if (credits.length === 0) return null;
  return (
    <section aria-labelledby="expiring">
      <Title order={2} size="h4" id="expiring" mb="sm">
        Credits that expire
      </Title>
      <DataTable
        label="Expiring credits"
        rows={credits}
        columns={columns}
        rowId={(row) => `${row.expires_at} ${credits.indexOf(row)}`}
        empty={null}
      />
    </section>
  );
}

const columns: Columns<Expiring> = [
  figure('credits', 'Credits', { of: (row) => row.credits, show: creditsCell }),
  {
    accessorKey: 'expires_at',
    header: 'Expires',
    cell: ({ row: { original } }) => time(original.expires_at),
  },
];
