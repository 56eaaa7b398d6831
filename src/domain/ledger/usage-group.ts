/** What usage may be added up by. */
export const usageGroups = ['day', 'model', 'key'] as const;
export type UsageGroup = (typeof usageGroups)[number];
