import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { showChat, type ChatCall } from '../../services/chat/show/show-chat.ts';
import { chatOutcomes } from '../../db/chat/chats.ts';
import { requestPosition } from '../../db/requests/list-requests.ts';
import type { RequestView } from '../../db/requests/request-filter.ts';
import { chatSortColumns, listRequests } from '../../db/requests/sorted-requests.ts';
import { chatEndReasons } from '../../domain/chat/chat-end-reason.ts';
import { ChatRow, ChatTimeline } from '../schemas/chats.ts';
import { group, option, action } from '../define-action.ts';
import { shortText } from '../input.ts';
import { listInput, listRequest } from '../list-input.ts';
import { factText, table, time } from '../plain-text.ts';
import { jsonRow, listReport, type Report } from '../report.ts';
import { shownCredits, type ShownDeps } from '../shown-credits.ts';
import { chatRow, requestLine } from './request-row.ts';

/** `tollgate chats …`: chats whose credits were held, and why each ended as it did. Prompts and answers are not stored. */
export const chatActions = group('chats and why they ended as they did', () => ({ list, show }));

const list = action({
  summary: 'list chats, those that run and then those that ended, newest first',
  input: {
    project: option('<id>', shortText.optional()).describe('show only this project'),
    key: option('<id>', shortText.optional()).describe('show only the chats of this key'),
    model: option('<id>', shortText.optional()).describe('show only this model'),
    channel: option('<name>', shortText.optional()).describe('show only chats for which this channel was called'),
    outcome: option('<outcome>', z.enum(chatOutcomes).optional()).describe('show only this outcome'),
    reason: option('<reason>', z.enum(chatEndReasons).optional()).describe(
      'show only chats that ended for this reason',
    ),
    ...listInput('chats', chatSortColumns, { position: requestPosition }),
  },
  route: { method: 'GET', path: '/chats', role: 'viewer' },
  answer: listOf(ChatRow),
  needs: 'database',
  async run(deps, { project: projectId, key: keyId, model: modelId, channel, outcome, reason, ...page }) {
    const filter = { projectId, keyId, modelId, channel, outcome, reason, type: 'chat' } as const;
    // Those that run are in another table, so the oldest of both are found as by any column.
    const request = listRequest({ ...page, sort: page.sort === 'oldest' ? 'created_at' : page.sort });
    const shown = await shownCredits(deps);
    const toLine = (chat: RequestView) => ({ request_id: chat.requestId, ...requestLine(chat, shown) });
    return listReport(await listRequests(deps.db, filter, request), toLine, {
      list: 'chats',
      nothing: 'No chat matches.',
      toDocument: chatRow,
    });
  },
});

const show = action({
  summary: 'show a chat, its calls to providers, and why it ended as it did',
  input: {
    id: shortText.describe(
      'request id of the chat, such as req_…: the header x-request-id of its answer; or the id of the answer itself',
    ),
  },
  route: { method: 'GET', path: '/chats/:id', role: 'viewer' },
  answer: ChatTimeline,
  refusals: ['not_found'],
  needs: 'database',
  run: (deps, { id }) => reportChat(deps, id),
});

/** Everything about a chat: why it ended as it did comes first. */
export async function reportChat(deps: ShownDeps, id: string): Promise<Report<z.input<typeof ChatTimeline>>> {
  const { chat, explanation, forCustomer, calls, ledger } = await showChat(deps, id);
  const shown = await shownCredits(deps);
  const row = chatRow(chat);
  const about = factText({
    ...row,
    channels: chat.channels.join(', '),
    credits: Object.entries(row.credits)
      .map(([name, credits]) => `${name} ${shown(credits)}`)
      .join(', '),
    created_at: time(chat.startedAt),
    ended_at: time(chat.endedAt),
    for_customer: forCustomer,
    expires_at: time(chat.expiresAt),
  });
  const entries = ledger.map(({ at, kind, credits, reason, reference }) => ({
    at: time(at),
    kind,
    credits: shown(credits),
    reason: reason ?? reference,
  }));
  return {
    document: {
      ...row,
      explanation,
      for_customer: forCustomer,
      expires_at: chat.expiresAt,
      attempts_detail: calls.map(jsonRow),
      ledger,
    },
    text: [explanation, about, callTable(calls), table(entries, 'No credits were moved yet.')].join('\n\n'),
  };
}

const callTable = (calls: readonly ChatCall[]): string =>
  table(
    calls.map(({ startedAt, endedAt: _endedAt, outcome, ...call }) => ({
      ...jsonRow(call),
      outcome: outcome ?? 'running',
      started_at: time(startedAt),
    })),
    'The rows of its calls are deleted.',
  );
