import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { projectFolder } from '../support/program.ts';
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
            annotations: z.object({ summary: z.string() }),
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
});
