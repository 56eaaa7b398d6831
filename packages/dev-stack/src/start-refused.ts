/** A refused start. The message tells a person the reason. */
export class StartRefused extends Error {}
