/** The request whose answer has this id: it stands behind the prefix of the answer's dialect. Any other id stays as it is. */
export const requestIdOf = (id: string): string => id.replace(/^(?:chatcmpl-|msg_|resp_)/, 'req_');
