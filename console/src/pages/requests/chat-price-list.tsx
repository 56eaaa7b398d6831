import { Text, Title } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { tokenClassTable } from '../../../../src/domain/catalog/token-classes.ts';
import type { PlanRule } from '../../../../src/domain/plans/plan.ts';
import { read } from '../../api/admin.ts';
import type { AuditEntry, ChatTimeline } from '../../api/admin-types.ts';
import { DataTable, figure, numeric, type Columns } from '../../ui/data-table.tsx';
import { creditsCell, number } from '../../ui/format.ts';
import { Empty, Loaded } from '../../ui/page.tsx';
import { entryOfRules } from '../models/entry-of-rules.ts';
import { priceOfChat, type PriceLine } from './chat-price.ts';

/** What a chat was charged for each class of its tokens, at the prices of its time. */
export function ChatPriceList({ chat }: { chat: ChatTimeline }) {
  const price = useQuery(priceQuery(chat));
  if (chat.input_tokens === null || chat.credits.charged === 0) return null;
  return (
    <div>
      <Title order={2} size="h4" mb="sm">
        Price by class of tokens
      </Title>
      <Loaded of={price}>
        {({ lines }) =>
          lines === null ? (
            <Text size="sm" c="dimmed">
              The prices of that time are not known any more: the model, its plan or the charge was changed since.
            </Text>
          ) : (
            <DataTable
              label="Price by class of tokens"
              rows={lines}
              columns={columns}
              rowId={({ of }) => of}
              empty={<Empty title="No token was charged" />}
            />
          )
        }
      </Loaded>
    </div>
  );
}

const columns: Columns<PriceLine> = [
  {
    id: 'class',
    header: 'Class',
    accessorFn: ({ of }) => (of === 'minimum' ? 'Minimum of a request' : tokenClassTable[of].label),
  },
  {
    id: 'tokens',
    header: 'Tokens',
    accessorFn: ({ tokens }) => tokens ?? 0,
    cell: ({ row: { original } }) => original.tokens !== null && number(original.tokens),
    ...numeric,
  },
  {
    id: 'price',
    header: 'Per 1,000 tokens',
    accessorFn: ({ price }) => price ?? 0,
    cell: ({ row: { original } }) => original.price !== null && creditsCell(original.price),
    ...numeric,
  },
  figure('credits', 'Credits', {
    of: ({ credits }) => credits ?? -1,
    show: (credits) => (credits < 0 ? 'With the class above' : creditsCell(credits)),
  }),
];

/** Further changes of the catalog are not undone. */
const changesMax = 1_000;

const priceQuery = (chat: ChatTimeline) =>
  queryOptions({
    queryKey: ['chat-price', chat.request_id, chat.credits.charged],
    queryFn: async () => ({ lines: await readPrice(chat).catch(() => null) }),
    enabled: chat.input_tokens !== null && chat.credits.charged > 0,
    staleTime: Infinity,
  });

async function readPrice(chat: ChatTimeline): Promise<PriceLine[] | null> {
  const since = chat.created_at;
  const [entry, sets, applies, rules] = await Promise.all([
    read('/catalog/{model}', { model: chat.model }),
    changesOf({ action: 'catalog.set' }, since),
    changesOf({ action: 'catalog.apply' }, since),
    rulesAt(chat.project_id, since),
  ]);
  return priceOfChat({ chat, entry: entryOfRules(entry), changes: [...sets, ...applies], rules });
}

/** The changes since a time, newest first. Throws if there are more than are read. */
async function changesOf(filter: { action: string; subject?: string }, since: number): Promise<AuditEntry[]> {
  const page = await read('/audit', { ...filter, created_after: String(since), limit: changesMax });
  if (page.next_cursor !== null) throw new Error('There are too many changes.');
  return page.data;
}

/** The rules of the plan that a project had at a time. */
async function rulesAt(project: string, at: number): Promise<readonly PlanRule[]> {
  const [now, changes] = await Promise.all([
    read('/projects/{id}', { id: project }),
    changesOf({ action: 'projects.set', subject: project }, at),
  ]);
  const first = changes.findLast(({ before }) => before !== null && 'plan' in before);
  const name = first === undefined ? now.plan : (first.before?.['plan'] as string | null);
  if (name === null) return [];
  const plan = await read('/plans/{name}', { name });
  const sets = await changesOf({ action: 'plans.set', subject: plan.plan_id }, at);
  return (sets.at(-1)?.before?.['rules'] ?? plan.rules) as readonly PlanRule[];
}
