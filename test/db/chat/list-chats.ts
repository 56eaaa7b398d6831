import type { Page, PageRequest } from '../../../src/domain/page.ts';
import type { Database } from '../../../src/db/database.ts';
import { listNewestRequests } from '../../../src/db/requests/list-requests.ts';
import type { RequestFilter, RequestView } from '../../../src/db/requests/request-filter.ts';

export type ChatFilter = Pick<
  RequestFilter,
  'projectId' | 'keyId' | 'modelId' | 'channel' | 'outcome' | 'reason' | 'createdFrom' | 'createdBefore'
>;

/** One page of the chats of all projects, for operators: those that run, then those that have ended, each newest first (`listNewestRequests`). */
export const listChats = (
  database: Database,
  filter: ChatFilter,
  page: PageRequest,
  scannedMax?: number,
): Promise<Page<RequestView>> => listNewestRequests(database, { ...filter, type: 'chat' }, page, scannedMax);
