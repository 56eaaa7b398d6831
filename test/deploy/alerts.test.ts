import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { projectFolder } from '../support/program.ts';
import { alarmNames, eventAlarms, isAlarmName, lastingAlarms } from '../../src/domain/operators/alarm.ts';
import { ageLimits } from '../../src/services/operators/installation-conditions.ts';
import { findDebianProgram, runProgram } from './debian-program.ts';
import { promtool } from './promtool.ts';

const folder = join(projectFolder, 'deploy', 'prometheus');
const read = (path: string): string => readFileSync(path, 'utf8');

const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.union([
          z.object({
            alert: z.string(),
            labels: z.object({ severity: z.enum(['page', 'ticket']) }),
            expr: z.string(),
            annotations: z.object({ summary: z.string(), conditions: z.string() }),
          }),
          z.object({ record: z.string() }),
        ]),
      ),
    }),
  ),
});
const Tests = z.object({
  tests: z.array(
    z.object({
      name: z.string(),
      promql_expr_test: z.array(z.object({ expr: z.string(), exp_samples: z.array(z.unknown()).optional() })),
    }),
  ),
});
const rules = Rules.parse(parse(read(join(folder, 'alerts.yaml'))))
  .groups.flatMap((group) => group.rules)
  .filter((rule) => 'alert' in rule);
const { tests } = Tests.parse(parse(read(join(folder, 'alerts.test.yaml'))));

describe('the alert rules', () => {
  it('each fire during their fault and are silent after it', () => {
    const { status, output } = promtool('test', 'rules', join(folder, 'alerts.test.yaml'));
    expect([status, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });

  it('each have one case, in which they fire first and are silent later', () => {
    expect(tests.map(({ name }) => name)).toEqual(rules.map(({ alert }) => alert));
    for (const { name, promql_expr_test: queries } of tests) {
      const firing = `count(ALERTS{alertname="${name}",alertstate="firing"})`;
      expect(queries.map(({ expr }) => expr)).toEqual([firing, firing]);
      expect(queries.map(({ exp_samples: samples = [] }) => samples.length)).toEqual([1, 0]);
    }
  });

  it('each have a paragraph in the runbook, which says how urgent they are', () => {
    const paragraphs = read(join(projectFolder, 'docs', 'RUNBOOK.md'))
      .split('\n## ')
      .map((text) => text.split('\n\n'))
      .filter(([heading]) => heading?.startsWith('Tollgate'));
    expect(paragraphs.map(([heading, text = '']) => [heading, /^`(\w+)`\./.exec(text)?.[1]])).toEqual(
      rules.map(({ alert, labels }) => [alert, labels.severity]),
    );
  });

  it('each name the conditions under which the overview shows the same, and every condition of the overview has an alert', () => {
    const named = new Map(rules.map(({ alert, annotations }) => [alert, annotations.conditions.split(', ')]));
    expect([...named].filter(([, conditions]) => conditions[0] === 'none').map(([alert]) => alert)).toEqual([
      'TollgateApiDown',
      'TollgateDatabaseDown',
    ]);
    expect(named.get('TollgateAlarm')).toEqual(['every event']);
    const conditions = new Set([...named.values()].flat().filter((name) => !['none', 'every event'].includes(name)));
    expect([...conditions].filter((name) => !isAlarmName(name))).toEqual([]);
    // TollgateAlarm fires for these too: they are lines of the log, and so are the events.
    const withoutOwnAlert = ['job_failed', 'database_unwritable', 'egress_open', 'crash_point_armed'];
    // An operator has switched every channel off, or has added none yet.
    const ofAnOperator = ['no_channel'];
    const accepted = new Set<string>([...conditions, ...eventAlarms, ...withoutOwnAlert, ...ofAnOperator]);
    expect(alarmNames.filter((name) => !accepted.has(name))).toEqual([]);
    expect(lastingAlarms.filter((name) => !conditions.has(name))).toEqual(['database_unwritable']);
  });

  it.each([
    ['TollgateBackupOld', ageLimits.backupAgeSeconds],
    ['TollgateWalNotArchived', ageLimits.walNotArchivedSeconds],
    ['TollgateTasksNotStarted', ageLimits.undecidedTaskAge],
    ['TollgateTasksNotStarted', ageLimits.unstartedTaskAge],
    ['TollgateTasksStale', ageLimits.staleTaskAge],
    ['TollgateChatsNotRefunded', ageLimits.expiredChatAge],
    ['TollgatePollsLate', ageLimits.duePollAge],
  ])('fire from the age on from which the overview shows the condition: %s', (name, seconds) => {
    expect(rules.find(({ alert }) => alert === name)?.expr).toMatch(new RegExp(`> ${seconds}$`));
  });
});

const amtool = findDebianProgram('amtool', 'prometheus-alertmanager');

describe('the sample of the Alertmanager', () => {
  (amtool === null ? it.skip : it)(
    'is valid, and sends each severity to its receiver (by amtool, else not tested)',
    () => {
      const file = join(folder, 'alertmanager.yml');
      const run = (...args: string[]) => runProgram(amtool ?? '', args);
      expect(run('check-config', file).status).toBe(0);
      for (const severity of ['page', 'ticket']) {
        const { status, output } = run('config', 'routes', 'test', `--config.file=${file}`, `severity=${severity}`);
        expect([status, output.split('\n').filter((line) => !line.startsWith('Warning') && line !== '')]).toEqual([
          0,
          [severity],
        ]);
      }
    },
  );

  it('names only alerts that the rules have', () => {
    const named = read(join(folder, 'alertmanager.yml')).match(/Tollgate\w+/g) ?? [];
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !rules.some(({ alert }) => alert === name))).toEqual([]);
  });
});
