/** What the usage of a project may be added up by. */
export const usageGroups = ['day', 'model', 'key'] as const;
export type UsageGroup = (typeof usageGroups)[number];

/** What operators may add up by: `type` is that of the model in the catalog. */
export const spendGroups = ['day', 'hour', 'model', 'project', 'key', 'channel', 'type'] as const;
export type SpendGroup = (typeof spendGroups)[number];

/** What decides which groups are the largest. */
export const spendMeasures = ['credits', 'cost', 'requests', 'failed', 'tokens'] as const;
export type SpendMeasure = (typeof spendMeasures)[number];
