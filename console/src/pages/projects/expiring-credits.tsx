import { Title } from '@mantine/core';
import type { Account } from '../../api/admin-types.ts';
import { DataTable, type Columns } from '../../ui/data-table.tsx';
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

/** Below the left end of the heading, unlike other amounts: an amount that comes first would stand far from it. */
const columns: Columns<Expiring> = [
  { accessorKey: 'credits', header: 'Credits', cell: ({ row: { original } }) => creditsCell(original.credits) },
  {
    accessorKey: 'expires_at',
    header: 'Expires',
    cell: ({ row: { original } }) => time(original.expires_at),
  },
];
