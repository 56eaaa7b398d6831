import { describe, expect, it } from '@jest/globals';
import { sessionHeaders, sessionIdOf } from '../../../src/http/request/session-header.ts';

describe('sessionIdOf', () => {
  it.each(sessionHeaders)('reads %s, which Node names in lower case', (name) => {
    expect(name).toBe(name.toLowerCase());
    expect(sessionIdOf({ [name]: 'session-1', 'x-request-id': 'other' })).toBe('session-1');
    expect(sessionIdOf({ [name]: ' ' })).toBeUndefined();
  });

  it('prefers the header of a known agent to a general one, and finds nothing in other headers', () => {
    expect(sessionIdOf({ 'x-session-id': 'general', 'x-claude-code-session-id': 'agent' })).toBe('agent');
    expect(sessionIdOf({ 'x-request-id': 'one', cookie: 'session_id=one' })).toBeUndefined();
  });
});
