/** A header of answers that no route of the gateway wrote: a handler of the test stands in for it. */
export const standIn = 'x-stand-in';
