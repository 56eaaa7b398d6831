/** What a key may do: `chat` buys chats, `media` creates and changes tasks, `read` reads what belongs to the whole project. */
export const scopes = ['chat', 'media', 'read'] as const;

export type Scope = (typeof scopes)[number];

/** What a key of the playground may do. It never reads what belongs to the whole project, and its limits and secret change only with the session. */
export const playgroundScopes: readonly Scope[] = ['chat', 'media'];
