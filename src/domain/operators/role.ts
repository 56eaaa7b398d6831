/** What an admin token may do, from the least to the most. Each role includes those before it. */
export const roles = ['viewer', 'operator', 'owner'] as const;
export type Role = (typeof roles)[number];

/** Whether a role is the needed one or includes it. */
export const includesRole = (role: Role, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed);
