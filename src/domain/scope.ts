/** What a key may do: `chat` buys chats, `media` creates and changes tasks, `read` reads what belongs to the whole project. */
export const scopes = ['chat', 'media', 'read'] as const;

export type Scope = (typeof scopes)[number];
