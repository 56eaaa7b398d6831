import { describe, expect, it } from '@jest/globals';
import { alarmOf } from '../../../src/domain/operators/alarm.ts';
import type { LoggedAlarm } from '../../../src/platform/observe/alarms.ts';
import { createLogger } from '../../../src/platform/observe/logger.ts';

describe('createLogger', () => {
  it('never writes a credential, a prompt or a callback URL at any depth', () => {
    const { logger, lines } = captured();
    const secrets = {
      authorization: 'MARKER',
      'x-api-key': 'MARKER',
      'x-goog-api-key': 'MARKER',
      cookie: 'MARKER',
      prompt: 'MARKER',
      messages: [{ content: 'MARKER' }],
      contents: ['MARKER'],
      callback_url: 'https://MARKER.example',
    };
    logger.info(secrets, 'at the top level');
    logger.info({ body: secrets }, 'one level down');
    logger.warn({ request: { headers: secrets } }, 'two levels down');
    logger.error({ a: { b: { c: secrets } } }, 'three levels down');
    logger.child({ request: { headers: secrets } }).error('in a child');
    logger.child({ a: 1 }).child(secrets).error('in a grandchild');
    expect(lines).toHaveLength(6);
    expect(lines[5]).toContain('"a":1');
    expect(lines.join('')).not.toContain('MARKER');
    expect(lines.join('')).toContain('[redacted]');
  });

  it('redacts the properties of an error and keeps its message and stack', () => {
    const { logger, lines } = captured();
    const error = Object.assign(new Error('it broke'), {
      prompt: 'MARKER',
      config: { headers: { Authorization: 'MARKER' } },
    });
    logger.error({ err: error }, 'failed');
    logger.error(error);
    logger.error({ error });
    expect(lines.join('')).not.toContain('MARKER');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ err: { message: 'it broke', type: 'Error' } });
    expect(lines[1]).toContain('it broke');
    expect(lines[2]).toContain('it broke');
  });

  it('writes the code and table of a PostgreSQL error, but no text that could quote data', () => {
    const { logger, lines } = captured();
    const own = Object.assign(new Error('invalid input syntax: "MARKER"'), {
      code: '22P02',
      detail: 'Failing row contains (MARKER).',
      table: 'task',
      routine: 'json_errsave_error',
    });
    const wrapped = new Error('insert into task values (MARKER)', { cause: own });
    wrapped.name = 'DriverException';
    logger.error({ err: own }, 'failed');
    logger.error({ err: wrapped, reason: [own] }, 'failed');
    expect(lines.join('')).not.toContain('MARKER');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ err: { code: '22P02', table: 'task' } });
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ err: { name: 'DriverException', cause: { code: '22P02' } } });
  });

  it('writes an object that contains itself', () => {
    const { logger, lines } = captured();
    const circle: Record<string, unknown> = { prompt: 'MARKER' };
    circle['self'] = circle;
    logger.info(circle);
    expect(lines.join('')).toContain('[deep]');
    expect(lines.join('')).not.toContain('MARKER');
  });

  it('writes one JSON line with level, name, fields and message', () => {
    const { logger, lines } = captured();
    logger.info({ task_id: 'task_1' }, 'task ended');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'info',
      name: 'test',
      task_id: 'task_1',
      msg: 'task ended',
    });
  });

  it('does not change the logged object', () => {
    const { logger } = captured();
    const value = { headers: { authorization: 'kept' } };
    logger.info(value);
    expect(value.headers.authorization).toBe('kept');
  });

  it('tells of each line with `alarm: true`, by its reason even if no alarm has that name, and of no other', () => {
    const raised: LoggedAlarm[] = [];
    const logger = createLogger('info', 'test', { write: () => undefined }, (alarm) => void raised.push(alarm));
    logger.error({ ...alarmOf('account'), channel: 'a' }, 'a channel needs an operator');
    logger.error({ ...alarmOf('account'), reason: 'of_a_later_release' }, 'something is wrong');
    logger.error({ alarm: true }, 'nobody named it');
    logger.warn({ alarm: 'account', reason: 'account' }, 'an alarm is over');
    logger.warn({ alarm: false, reason: 'account' }, 'no alarm');
    expect(raised.map(({ message, facts }) => [message, facts.reason])).toEqual([
      ['a channel needs an operator', 'account'],
      ['something is wrong', 'of_a_later_release'],
      ['nobody named it', 'nobody named it'],
    ]);
  });

  it('writes nothing below its level', () => {
    const { logger, lines } = captured();
    logger.debug('not written');
    expect(lines).toEqual([]);
  });
});

function captured() {
  const lines: string[] = [];
  const logger = createLogger('info', 'test', { write: (line: string) => void lines.push(line) });
  return { logger, lines };
}
