/** A start that was not tried, with the reason in words for a person. */
export class StartRefused extends Error {}
