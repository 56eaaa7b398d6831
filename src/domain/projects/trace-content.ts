/** How much of what its chats say a project lets traces have: with secrets and personal data redacted, or all of it. */
export const traceContents = ['redacted', 'full'] as const;
export type TraceContent = (typeof traceContents)[number];
