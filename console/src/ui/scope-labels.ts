import type { Key } from '../api/admin-types.ts';

/** What a key may use, in words. */
export const scopeLabels: Readonly<Record<Key['scopes'][number], string>> = {
  chat: 'Chat',
  media: 'Pictures and videos',
  read: 'Lists and usage',
};
