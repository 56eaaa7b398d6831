import type { Page, PageRequest } from '../../domain/page.ts';
import type { Database } from '../database.ts';
import { listNewestRequests } from '../requests/list-requests.ts';
import type { RequestFilter, RequestView } from '../requests/request-filter.ts';

export type ChatFilter = Pick<
  RequestFilter,
  'projectId' | 'keyId' | 'modelId' | 'channel' | 'outcome' | 'reason' | 'createdFrom' | 'createdBefore'
>;

/** Matches the position of a chat in the list: among those that run by the time of its hold, or else by the time of its end. */
export const chatPosition = /^(?:running|ended)\.\d{1,16}\.[\w-]{1,64}$/;

/** One page of the chats of all projects, for operators: those that run, then those that have ended, each newest first (`listNewestRequests`). */
export const listChats = (
  database: Database,
  filter: ChatFilter,
  page: PageRequest,
  scannedMax?: number,
): Promise<Page<RequestView>> => listNewestRequests(database, { ...filter, type: 'chat' }, page, scannedMax);
