import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { samplesOf, typesOf } from '../support/metric-samples.ts';
import { projectFolder } from '../support/program.ts';
import { promtool } from './promtool.ts';

const rulesFile = join(projectFolder, 'deploy', 'prometheus', 'alerts.yaml');
const rules = readFileSync(rulesFile, 'utf8');

/** What one scrape of a process gave; null if it failed. */
export interface Scrape {
  job: 'tollgate-api' | 'tollgate-worker';
  instance: string;
  page: string | null;
}

/** A fault: what the processes showed before it and during it. */
export interface FaultSeen {
  alert: string;
  before: readonly Scrape[];
  during: readonly Scrape[];
}

const calmMinutes = 5;
const faultMinutes = 55;

/**
 * The alerts that do not fire by the rules although their fault lasts, and those that fire before it, by promtool. A gauge keeps its value for as long as
 * the fault lasts, and what a counter has gained is gained again in every minute.
 */
export function alertsAtFault(faults: readonly FaultSeen[]): string {
  const tests = faults.map(({ alert, before, during }) => {
    const isFiring = `count(ALERTS{alertname="${alert}",alertstate="firing"}) > bool 0 or vector(0)`;
    return {
      name: alert,
      interval: '1m',
      input_series: seriesOf(before, during),
      promql_expr_test: [
        { expr: isFiring, eval_time: `${calmMinutes - 1}m`, exp_samples: [{ labels: '{}', value: 0 }] },
        { expr: isFiring, eval_time: `${calmMinutes + faultMinutes - 1}m`, exp_samples: [{ labels: '{}', value: 1 }] },
      ],
    };
  });
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-alerts-'));
  try {
    const path = join(folder, 'cases.json');
    writeFileSync(path, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }));
    const { status, output } = promtool('test', 'rules', path);
    return status === 0 ? '' : output;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Point {
  value: number;
  isCounter: boolean;
}

/** As Prometheus stores them: with the labels of the target, and `up`. */
function readScrapes(scrapes: readonly Scrape[]): Map<string, Point> {
  const points = new Map<string, Point>();
  for (const { job, instance, page } of scrapes) {
    const target = { job, instance };
    points.set(seriesName('up', target), { value: page === null ? 0 : 1, isCounter: false });
    const types = typesOf(page ?? '');
    for (const { name, labels, value } of samplesOf(page ?? '')) {
      // Temporal's SDK calls its counters gauges in no case, and prom-client names the parts of a histogram after it.
      const type = types.get(name) ?? types.get(name.replace(/_(bucket|sum|count)$/, ''));
      const isCounter = type !== 'gauge';
      if (rules.includes(name) && !Number.isNaN(value))
        points.set(seriesName(name, { ...labels, ...target }), { value, isCounter });
    }
  }
  return points;
}

const seriesName = (name: string, labels: Record<string, string>): string =>
  `${name}{${Object.entries(labels)
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
    .join(',')}}`;

function seriesOf(before: readonly Scrape[], during: readonly Scrape[]): { series: string; values: string }[] {
  const [calm, faulty] = [readScrapes(before), readScrapes(during)];
  return [...new Set([...calm.keys(), ...faulty.keys()])].map((series) => {
    const [then, now] = [calm.get(series), faulty.get(series)];
    const start = then ? `${then.value}+0x${calmMinutes - 1}` : `_x${calmMinutes}`;
    if (!now) return { series, values: `${start} _x${faultMinutes}` };
    const gain = now.isCounter ? Math.max(0, now.value - (then?.value ?? 0)) : 0;
    return { series, values: `${start} ${now.value}+${gain}x${faultMinutes - 1}` };
  });
}
