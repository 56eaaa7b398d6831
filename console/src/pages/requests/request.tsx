import { Card, Code, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useProjectName } from '../../api/project-name.ts';
import { chatQuery, requestQuery } from '../../api/queries.ts';
import type { AnsweredRequest, ChatCall, ChatTimeline, LedgerEntry } from '../../api/admin-types.ts';
import { DataTable, figure, numeric, type Columns } from '../../ui/data-table.tsx';
import { entryKinds } from '../../ui/entry-kinds.ts';
import { cost, credits, creditsCell, milliseconds, number, time, words } from '../../ui/format.ts';
import { KeyLink, PageLink, ResourceLink, ResourceLinks } from '../../ui/links.tsx';
import { Empty, Loaded, LoadedPage, Page } from '../../ui/page.tsx';
import { Copyable, Facts, Status, When } from '../../ui/values.tsx';
import { ForCustomer, StepList } from '../tasks/step-list.tsx';
import { TaskDetails } from '../tasks/task.tsx';
import { attemptStep, ledgerStep, type Step } from '../tasks/timeline.ts';
import { ChatPriceList } from './chat-price-list.tsx';
import { outcomeName } from './outcomes.ts';

/** One request of any type. A picture or a video shows what the page of its task does. */
export default function RequestPage() {
  const { requestId } = useParams({ from: '/requests/$requestId' });
  const found = useQuery(requestQuery(requestId));
  return (
    <LoadedPage title="Request" of={found}>
      {({ task_id: taskId, answered }) =>
        answered !== null ? (
          <Answered requestId={requestId} of={answered} />
        ) : taskId === null ? (
          <ChatDetails requestId={requestId} />
        ) : (
          <TaskDetails taskId={taskId} requestId={requestId} />
        )
      }
    </LoadedPage>
  );
}

/** A request for which no credits were held, such as one that was refused for its rate, its model or its credits. */
function Answered({ requestId, of: answered }: { requestId: string; of: AnsweredRequest }) {
  const isRefused = answered.status >= 400;
  return (
    <Page title="Request" about={<Copyable text={requestId} label="Copy the id" wrap />}>
      <Card withBorder>
        <Text mb="md">{answered.explanation}</Text>
        <ForCustomer text={answered.for_customer} />
        <Facts
          of={[
            ['Outcome', <Status key="outcome" of={isRefused ? 'refused' : 'answered'} />],
            ['Error', answered.error_code && <Code key="error">{answered.error_code}</Code>],
            ['Status', answered.status === 499 ? 'None: the client left before' : answered.status],
            ['Model', answered.model && <ResourceLink key="model" of="model" id={answered.model} />],
            [
              'Project',
              <ResourceLink key="project" of="project" id={answered.project_id} name={answered.project_name} />,
            ],
            ['Key', <ResourceLink key="key" of="key" id={answered.key_id} name={answered.key_name} />],
            ['Route', <Code key="route">{`${answered.method} ${answered.route}`}</Code>],
            ['Answered', time(answered.answered_at)],
            ['Took', milliseconds(answered.ms)],
          ]}
        />
      </Card>
      {answered.key_id !== null && (
        <PageLink to="/requests" search={{ key: answered.key_id }} size="sm">
          Other requests of this key
        </PageLink>
      )}
    </Page>
  );
}

/** One chat: why it ended as it did, the calls that were made for it, and what it moved in the ledger. */
function ChatDetails({ requestId }: { requestId: string }) {
  const chat = useQuery({
    ...chatQuery(requestId),
    refetchInterval: ({ state }) => (state.data?.outcome === 'running' ? 2_000 : false),
  });
  return (
    <Page title="Request" about={<Copyable text={requestId} label="Copy the id" wrap />}>
      <Loaded of={chat}>
        {(data) => (
          <>
            <Summary chat={data} />
            <ChatPriceList chat={data} />
            <Calls calls={data.attempts_detail} />
            <Entries entries={data.ledger} />
            <StepList steps={chatSteps(data)} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Everything that happened to a chat, oldest first. */
function chatSteps(chat: ChatTimeline): Step[] {
  const began = {
    id: 'began',
    at: chat.created_at,
    title: 'Began',
    about: `${credits(chat.credits.reserved)} held`,
    color: 'gray',
  };
  const rest = [
    ...chat.attempts_detail.map(attemptStep),
    ...chat.ledger.map((entry) => ledgerStep(entry, chat.credits)),
  ];
  return [began, ...rest.toSorted((a, b) => a.at - b.at)];
}

function Summary({ chat }: { chat: ChatTimeline }) {
  const projectName = useProjectName(chat.project_id);
  const { reserved, charged, refunded } = chat.credits;
  return (
    <Card withBorder>
      <Text mb="md">{chat.explanation}</Text>
      <ForCustomer text={chat.for_customer} />
      <Facts
        of={[
          ['Outcome', <Status key="outcome" of={outcomeName(chat)} />],
          ['Reason', chat.reason && <Code key="reason">{chat.reason}</Code>],
          ['Model', <ResourceLink key="model" of="model" id={chat.model} />],
          ['Project', <ResourceLink key="project" of="project" id={chat.project_id} name={projectName} />],
          ['Key', <KeyLink key="key" id={chat.key_id} />],
          ['Channels', <ResourceLinks key="channels" of="channel" ids={chat.channels} none="None was called" />],
          ['Credits', `${credits(charged)} charged of ${creditsCell(reserved)} held`],
          ['Given back', refunded > 0 ? credits(refunded) : null],
          ['Tokens', tokensOf(chat)],
          ['Our cost', chat.outcome === 'running' ? null : cost(chat.cost_micro_usd, chat.unknown_costs)],
          ['Began', time(chat.created_at)],
          ['Ended', chat.ended_at && time(chat.ended_at)],
          ['Took', chat.took_ms === null ? null : milliseconds(chat.took_ms)],
          ['Held until', chat.expires_at && time(chat.expires_at)],
        ]}
      />
    </Card>
  );
}

/** The tokens that were charged, with the classes that have any. */
function tokensOf(chat: ChatTimeline): string | null {
  const { input_tokens: input, output_tokens: output } = chat;
  if (input === null || output === null) return null;
  const parts = (of: [name: string, tokens: number | null][]): string => {
    const shown = of.flatMap(([name, tokens]) => (tokens ? [`${number(tokens)} ${name}`] : []));
    return shown.length === 0 ? '' : ` (${shown.join(', ')})`;
  };
  const ofInput = parts([
    ['cached', chat.cached_input_tokens],
    ['written to the cache', chat.cache_write_tokens],
  ]);
  const ofOutput = parts([['reasoning', chat.reasoning_tokens]]);
  const isEstimated = chat.usage_estimated ? ', estimated' : '';
  return `${number(input)} in${ofInput}, ${number(output)} out${ofOutput}${isEstimated}`;
}

function Calls({ calls }: { calls: ChatCall[] }) {
  return (
    <div>
      <Title order={2} size="h4" mb="sm">
        Calls to providers
      </Title>
      <DataTable
        label="Calls to providers"
        rows={calls}
        columns={callColumns}
        rowId={({ n }) => String(n)}
        empty={<Empty title="The calls are not shown any more">Their rows are deleted after some time.</Empty>}
      />
    </div>
  );
}

const callColumns: Columns<ChatCall> = [
  { accessorKey: 'n', header: 'Call', ...numeric },
  {
    accessorKey: 'channel',
    header: 'Channel',
    cell: ({ row: { original } }) => <ResourceLink of="channel" id={original.channel} />,
  },
  {
    id: 'outcome',
    header: 'Outcome',
    accessorFn: ({ outcome }) => outcome ?? 'running',
    cell: ({ row: { original } }) => <Status of={original.outcome ?? 'running'} />,
  },
  {
    id: 'error',
    header: 'Error',
    enableSorting: false,
    cell: ({ row: { original } }) => (
      <span className="breakable">
        {[original.error_class && words(original.error_class), original.detail].filter(Boolean).join(': ') || 'None'}
      </span>
    ),
  },
  figure('cost', 'Our cost', {
    of: (call) => call.cost_micro_usd,
    show: (micro, call) => (call.outcome === null ? 'Not ended' : cost(micro, Number(call.cost_unknown))),
  }),
  {
    id: 'took',
    header: 'Took',
    accessorFn: ({ took_ms: ms }) => ms ?? Infinity,
    cell: ({ row: { original } }) => (original.took_ms === null ? 'Not ended' : milliseconds(original.took_ms)),
    ...numeric,
  },
];

function Entries({ entries }: { entries: LedgerEntry[] }) {
  return (
    <div>
      <Title order={2} size="h4" mb="sm">
        Ledger
      </Title>
      <DataTable
        label="Ledger"
        rows={entries}
        columns={entryColumns}
        rowId={(entry) => entry.entry_id}
        empty={<Empty title="No entry yet">The chat runs, and its credits are held.</Empty>}
      />
    </div>
  );
}

const entryColumns: Columns<LedgerEntry> = [
  { accessorKey: 'at', header: 'When', cell: ({ row: { original } }) => <When at={original.at} /> },
  { accessorKey: 'kind', header: 'Kind', cell: ({ row: { original } }) => entryKinds[original.kind] },
  {
    accessorKey: 'credits',
    header: 'Credits',
    cell: ({ row: { original } }) => creditsCell(original.credits),
    ...numeric,
  },
  {
    id: 'reason',
    header: 'Reason',
    enableSorting: false,
    cell: ({ row: { original } }) => (
      <span className="breakable">{(original.reason && words(original.reason)) ?? original.reference ?? 'None'}</span>
    ),
  },
];
