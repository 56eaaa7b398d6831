/** How long an old secret works, or signs, beside the new one: a day, so that clients and receivers can be changed in working hours. */
export const secretOverlapSeconds = 86_400;
