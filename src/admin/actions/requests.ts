import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import type { AnsweredRequest } from '../../db/detail-rows.ts';
import { requestPosition } from '../../db/requests/list-requests.ts';
import { filteredOutcomes, type RequestView } from '../../db/requests/request-filter.ts';
import { listRequests, requestSortColumns } from '../../db/requests/sorted-requests.ts';
import { refusalSentence } from '../../domain/requests/customer-sentence.ts';
import { timeOfId } from '../../platform/crypto/ids.ts';
import { explainRefusal } from '../../services/tasks/show/explain-task.ts';
import { findRequest } from '../../services/requests/find-request.ts';
import { EndReason } from '../../schemas/ledger-entry.ts';
import { RequestRow, requestTypes, ShownRequest } from '../schemas/requests.ts';
import { group, option, action } from '../define-action.ts';
import { intFrom, shortText } from '../input.ts';
import { listInput, listRequest } from '../list-input.ts';
import { factText, time } from '../plain-text.ts';
import { jsonRow, listReport } from '../report.ts';
import { shownCredits } from '../shown-credits.ts';
import { reportChat } from './chats.ts';
import { requestLine, requestRow } from './request-row.ts';
import { reportTimeline } from './task-timeline.ts';

/** `tollgate requests …`: chats and media tasks in one list. Prompts and answers of chats are not stored. */
export const requestActions = group('chats, pictures and videos in one list', () => ({ list, show }));

const list = action({
  summary: 'list requests of all types, those that run and then those that ended, newest first',
  input: {
    project: option('<id>', shortText.optional()).describe('show only this project'),
    key: option('<id>', shortText.optional()).describe('show only the requests of this key'),
    model: option('<id>', shortText.optional()).describe('show only this model'),
    channel: option('<name>', shortText.optional()).describe('show only requests for which this channel was called'),
    type: option('<type>', z.enum(requestTypes).optional()).describe('show only chats, images or videos'),
    outcome: option('<outcome>', z.enum(filteredOutcomes).optional()).describe(
      'show only this outcome; refused and failed are parts of refunded, left is what a client left, charged or not',
    ),
    reason: option('<reason>', z.enum(EndReason.options).optional()).describe(
      'show only requests that ended for this reason',
    ),
    minMs: option('<milliseconds>', intFrom(0).optional()).describe('show only requests that took this long or longer'),
    minCredits: option('<credits>', intFrom(0).optional()).describe(
      'show only requests that were charged this much or more',
    ),
    ...listInput('requests', requestSortColumns, { position: requestPosition }),
  },
  route: { method: 'GET', path: '/requests', role: 'viewer' },
  answer: listOf(RequestRow),
  needs: 'database',
  async run(deps, { project: projectId, key: keyId, model: modelId, channel, type, outcome, reason, ...rest }) {
    const { minMs, minCredits, ...page } = rest;
    const filter = { projectId, keyId, modelId, channel, type, outcome, reason, minMs, minCredits };
    // Those that run are in another table, so the oldest of both are found as by any column.
    const request = listRequest({ ...page, sort: page.sort === 'oldest' ? 'created_at' : page.sort });
    const shown = await shownCredits(deps);
    const toLine = (row: RequestView) => ({
      request: row.taskId ?? row.requestId,
      type: row.type,
      ...requestLine(row, shown),
    });
    return listReport(await listRequests(deps.db, filter, request), toLine, {
      list: 'requests',
      nothing: 'No request matches.',
      toDocument: requestRow,
    });
  },
});

const show = action({
  summary:
    'show any request by its id: why it ended as it did and what it cost, also if it was refused before any credits were held',
  input: {
    id: shortText.describe(
      'request id, such as req_…: the header x-request-id of an answer; or the id of an answer or of a task',
    ),
  },
  route: { method: 'GET', path: '/requests/:id', role: 'viewer' },
  answer: ShownRequest,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { id }) {
    const { kind, requestId, taskId: task_id, answered } = await findRequest(deps, id);
    const document = { request_id: requestId, kind, task_id, answered: null, chat: null, task: null };
    if (task_id !== null) {
      const task = await reportTimeline(deps, task_id);
      return { document: { ...document, request_id: task.document.request_id, task: task.document }, text: task.text };
    }
    if (answered === null) {
      const chat = await reportChat(deps, requestId);
      return { document: { ...document, chat: chat.document }, text: chat.text };
    }
    const { requestId: _id, modelId: model, ...row } = answered;
    const startedAt = timeOfId(requestId) / 1_000;
    const for_customer = refusalSentence({ ...row, id: requestId, model, startedAt });
    const shown = { ...jsonRow(row), model, for_customer };
    const about = factText({ request_id: requestId, ...shown, answered_at: time(row.answeredAt) });
    const explanation = explainAnswer(row);
    return {
      document: { ...document, answered: { explanation, ...shown } },
      text: `${explanation}\n\n${about}`,
    };
  },
});

/** Why a request was answered before any credits were held. */
const explainAnswer = ({ status, errorCode }: Pick<AnsweredRequest, 'status' | 'errorCode'>): string =>
  status < 400
    ? 'The request was answered without credits.'
    : explainRefusal(errorCode, status === 499 && errorCode === null ? 'ended by its client' : 'refused');
