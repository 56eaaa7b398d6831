import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { chatOutcomes } from '../../db/chat/chats.ts';
import { requestPosition } from '../../db/requests/list-requests.ts';
import type { RequestView } from '../../db/requests/request-filter.ts';
import { listRequests, requestSortColumns } from '../../db/requests/sorted-requests.ts';
import { EndReason } from '../../schemas/ledger-entry.ts';
import { RequestRow, requestTypes } from '../schemas/requests.ts';
import { group, option, action } from '../define-action.ts';
import { count, shortText } from '../input.ts';
import { listInput, listRequest } from '../list-input.ts';
import { time } from '../plain-text.ts';
import { listReport } from '../report.ts';
import { shownCredits } from '../shown-credits.ts';
import { requestRow } from './request-row.ts';

/** `tollgate requests …`: chats and media tasks in one list. Prompts and answers of chats are not stored. */
export const requests = group('chats, pictures and videos in one list', () => ({ list }));

const list = action({
  summary: 'list requests of all types, those that run and then those that ended, newest first',
  input: {
    project: option('<id>', shortText.optional()).describe('show only this project'),
    key: option('<id>', shortText.optional()).describe('show only the requests of this key'),
    model: option('<id>', shortText.optional()).describe('show only this model'),
    channel: option('<name>', shortText.optional()).describe('show only requests for which this channel was called'),
    type: option('<type>', z.enum(requestTypes).optional()).describe('show only chats, images or videos'),
    outcome: option('<outcome>', z.enum(chatOutcomes).optional()).describe('show only this outcome'),
    reason: option('<reason>', z.enum(EndReason.options).optional()).describe(
      'show only requests that ended for this reason',
    ),
    minMs: option('<milliseconds>', count(0).optional()).describe('show only requests that took this long or longer'),
    minCredits: option('<credits>', count(0).optional()).describe(
      'show only requests that were charged this much or more',
    ),
    ...listInput('requests', requestSortColumns, { position: requestPosition }),
  },
  route: { method: 'GET', path: '/requests', role: 'viewer' },
  answer: listOf(RequestRow),
  needs: 'database',
  async run(deps, { project, key, model, channel, type, outcome, reason, minMs, minCredits, ...page }) {
    const filter = {
      projectId: project,
      keyId: key,
      modelId: model,
      channel,
      type,
      outcome,
      reason,
      minMs,
      minCredits,
    };
    // Those that run are in another table, so the oldest of both are found as by any column.
    const request = listRequest({ ...page, sort: page.sort === 'oldest' ? 'created_at' : page.sort });
    const shown = await shownCredits(deps);
    const toLine = (request: RequestView) => ({
      request: request.taskId ?? request.requestId,
      type: request.type,
      project: request.projectName || request.projectId,
      model: request.modelId,
      outcome: request.outcome,
      reason: request.reason,
      channels: request.channels.join(', '),
      charged: shown(requestRow(request).credits.charged),
      created_at: time(request.startedAt),
      took_ms: request.tookMs,
    });
    return listReport(await listRequests(deps.db, filter, request), toLine, {
      list: 'requests',
      nothing: 'No request matches.',
      toDocument: requestRow,
    });
  },
});
