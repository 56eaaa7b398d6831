import { beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { listedSettings } from '../../src/config/load-config.ts';
import { secretNames } from '../../src/config/setting.ts';
import { projectFolder } from '../support/program.ts';
import { service } from './compose-file.ts';
import { findGoProgram, findKubernetesSchemas, kubernetesVersion } from './chart-tools.ts';
import { runProgram } from './debian-program.ts';
import { promtool } from './promtool.ts';

const chart = join(projectFolder, 'deploy', 'helm', 'tollgate');
const read = (path: string): string => readFileSync(path, 'utf8');
const valueFiles = ['values-minimal.yaml', 'values-production.yaml', 'values-high-scale.yaml'];

const Reference = z.object({ name: z.string(), key: z.string() });
const Values = z.object({
  config: z.record(z.string(), z.string()).default({}),
  secrets: z.record(z.string(), Reference).default({}),
});
const Variable = z.object({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z.object({ secretKeyRef: Reference }).optional(),
});
const Pod = z.object({
  terminationGracePeriodSeconds: z.number().optional(),
  automountServiceAccountToken: z.literal(false),
  securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.literal(1000) }),
  containers: z.tuple([
    z.object({
      name: z.string(),
      command: z.array(z.string()),
      env: z.array(Variable),
      lifecycle: z.object({ preStop: z.unknown() }).optional(),
      securityContext: z.object({
        allowPrivilegeEscalation: z.literal(false),
        readOnlyRootFilesystem: z.literal(true),
        capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
      }),
    }),
  ]),
});
const Workload = z.object({ spec: z.object({ template: z.object({ spec: Pod }) }) });
const Resource = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) });

const settingNames = listedSettings.map(({ name }) => name);

describe('the values of the chart', () => {
  it.each(['values.yaml', ...valueFiles])(
    'name only settings of docs/CONFIGURATION.md, secrets by reference: %s',
    (file) => {
      const { config, secrets } = Values.parse(parse(read(join(chart, file))));
      const documented = read(join(projectFolder, 'docs', 'CONFIGURATION.md'));
      for (const name of [...Object.keys(config), ...Object.keys(secrets)]) {
        expect(settingNames).toContain(name);
        expect(documented).toContain(`| \`${name}\` |`);
      }
      expect(Object.keys(config).filter((name) => secretNames.has(name))).toEqual([]);
      expect(Object.keys(secrets).filter((name) => !secretNames.has(name))).toEqual([]);
    },
  );

  it('need no server of the chart unless they ask for it', () => {
    const Charts = z.object({
      postgresql: z.object({ enabled: z.boolean() }),
      temporal: z.object({ enabled: z.boolean() }),
    });
    const { postgresql, temporal } = Charts.parse(parse(read(join(chart, 'values.yaml'))));
    expect([postgresql.enabled, temporal.enabled]).toEqual([false, false]);
  });
});

it.each([
  ['files/alerts.yaml', 'prometheus/alerts.yaml'],
  ['files/dashboard.json', 'grafana/dashboards/tollgate.json'],
  ['charts/postgresql/files/roles.sql', 'postgres-roles.sql'],
])('the chart has a copy of a file of deploy, because Helm reads nothing outside of it: %s', (copy, original) => {
  expect(read(join(chart, copy))).toBe(read(join(projectFolder, 'deploy', original)));
});

const tools = { helm: findGoProgram('helm'), kubeconform: findGoProgram('kubeconform') };
const missing = Object.entries(tools).filter(([, path]) => path === null);
const lack =
  missing.length === 0
    ? ''
    : ` (not tested: neither installed nor built by Go: ${missing.map(([name]) => name).join(', ')})`;

(lack === '' ? describe : describe.skip)(`the rendered chart${lack}`, () => {
  const helm = (...args: string[]) => spawnSync(tools.helm ?? '', args, { encoding: 'utf8' });
  const render = (file: string, ...args: string[]): string => {
    const version = args.includes('--kube-version') ? [] : ['--kube-version', kubernetesVersion];
    const { status, stdout, stderr } = helm(
      'template',
      'gw',
      chart,
      '--values',
      join(chart, file),
      ...version,
      ...args,
    );
    expect([status, stderr]).toEqual([0, '']);
    return stdout;
  };
  const resourcesOf = (text: string) =>
    parseAllDocuments(text)
      .map((document) => document.toJS() as unknown)
      .filter((resource) => resource !== null)
      .map((resource) => Resource.parse(resource));
  const rendered = new Map<string, ReturnType<typeof resourcesOf>>();
  beforeAll(() => {
    for (const file of valueFiles) rendered.set(file, resourcesOf(render(file)));
  });
  const of = (file: string, kind: string) => (rendered.get(file) ?? []).filter((resource) => resource.kind === kind);
  const podsOf = (file: string) =>
    [...of(file, 'Deployment'), ...of(file, 'Job')]
      .filter(({ metadata }) => metadata.name !== 'gw-temporal')
      .map((resource) => Workload.parse(resource).spec.template.spec);

  it.each(valueFiles)('passes helm lint: %s', (file) => {
    const { status, output } = runProgram(tools.helm ?? '', ['lint', chart, '--strict', '--values', join(chart, file)]);
    expect([status, output]).toEqual([0, expect.stringContaining('1 chart(s) linted, 0 chart(s) failed')]);
  });

  const schemas = findKubernetesSchemas();
  (schemas === null ? it.skip : it).each(valueFiles)(
    'is valid by the schemas of Kubernetes, but for those that the Prometheus operator defines: %s',
    (file) => {
      const folder = mkdtempSync(join(tmpdir(), 'tollgate-chart-'));
      try {
        const path = join(folder, 'chart.yaml');
        writeFileSync(path, render(file));
        const { status, output } = runProgram(tools.kubeconform ?? '', [
          '-strict',
          '-summary',
          '-kubernetes-version',
          kubernetesVersion,
          '-skip',
          'ServiceMonitor,PrometheusRule',
          '-schema-location',
          `${schemas}/{{ .ResourceKind }}{{ .KindSuffix }}.json`,
          path,
        ]);
        expect([status, output]).toEqual([0, expect.stringMatching(/Valid: \d+, Invalid: 0, Errors: 0/)]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );

  it.each(valueFiles)('gives the programs only settings, and each only its own secrets: %s', (file) => {
    const pods = podsOf(file);
    expect(pods.map(({ containers: [{ name }] }) => name).sort()).toEqual(['api', 'migrate', 'worker']);
    for (const { containers } of pods) {
      const [{ name: program, env }] = containers;
      expect(env.map(({ name }) => name).filter((name) => !settingNames.includes(name))).toEqual([]);
      expect(env.filter(({ name, value }) => secretNames.has(name) && value !== undefined)).toEqual([]);
      const names = new Set(env.map(({ name }) => name));
      expect(['DATABASE_URL', 'KEY_PEPPERS', 'MASTER_KEYS'].filter((name) => !names.has(name))).toEqual([]);
      expect([program, names.has('MIGRATE_DATABASE_URL')]).toEqual([program, program === 'migrate']);
      expect([program, names.has('INTERNAL_JOB_TOKENS')]).toEqual([program, program === 'api']);
    }
  });

  it('waits longer than a program takes to stop, and before SIGTERM without a shell', () => {
    const [pod, worker] = ['api', 'worker'].map((name) =>
      podsOf('values-production.yaml').find(({ containers }) => containers[0].name === name),
    );
    const valueOf = (name: string) => Number(pod?.containers[0].env.find((variable) => variable.name === name)?.value);
    expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(
      5 + valueOf('SHUTDOWN_READY_DELAY_SECONDS') + valueOf('SHUTDOWN_DRAIN_SECONDS') + 10,
    );
    expect(worker?.terminationGracePeriodSeconds).toBeGreaterThan(valueOf('WORKER_SHUTDOWN_FORCE_SECONDS') + 15);
    expect(pod?.containers[0].lifecycle).toEqual({ preStop: { sleep: { seconds: 5 } } });
    expect(render('values-production.yaml', '--kube-version', '1.29.0')).toContain('command: [node, -e,');
  });

  it('runs the commands of docker-compose.yml, and migrates before the programs of an upgrade start', () => {
    for (const { containers } of podsOf('values-minimal.yaml')) {
      const [{ name, command }] = containers;
      expect([name, command]).toEqual([name, service(name).command]);
    }
    const [job] = of('values-production.yaml', 'Job');
    expect(job?.metadata['annotations']).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
  });

  it('has the alert rules, which promtool accepts, and names the jobs as they do', () => {
    const [rule] = of('values-production.yaml', 'PrometheusRule');
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-rules-'));
    try {
      const path = join(folder, 'rules.json');
      writeFileSync(path, JSON.stringify(rule?.['spec']));
      expect(promtool('check', 'rules', path).status).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
    const jobs = new Set(
      [...read(join(chart, 'files/alerts.yaml')).matchAll(/up\{job="([\w-]+)"/g)].map(([, job]) => job),
    );
    const components = of('values-production.yaml', 'Service')
      .map(({ metadata }) => z.record(z.string(), z.string()).parse(metadata['labels']))
      .filter((labels) => labels['tollgate/metrics'] === 'true')
      .map((labels) => `tollgate-${labels['app.kubernetes.io/component']}`);
    expect(new Set(components)).toEqual(jobs);
  });

  it('scales API servers by CPU and requests in flight, and workers by CPU and the age of queues', () => {
    const scaled = of('values-high-scale.yaml', 'HorizontalPodAutoscaler');
    const text = JSON.stringify(scaled);
    for (const name of ['"cpu"', 'tollgate_requests_in_flight', 'tollgate_queue_age_seconds'])
      expect(text).toContain(name);
    expect(of('values-high-scale.yaml', 'PodDisruptionBudget')).toHaveLength(2);
    expect(of('values-high-scale.yaml', 'NetworkPolicy')).toHaveLength(3);
    expect(JSON.stringify(of('values-high-scale.yaml', 'Ingress'))).toContain('proxy-buffering":"off"');
  });

  it.each([
    ['PUBLIC_BASE_URL', ['--set', 'config.PUBLIC_BASE_URL=']],
    ['TEMPORAL_ADDRESS', ['--set', 'config.TEMPORAL_ADDRESS=']],
    ['FILES_DRIVER', ['--set', 'config.FILES_DRIVER=local']],
    ['MASTER_KEYS', ['--set', 'secrets.MASTER_KEYS=null']],
  ])('refuses values with which the gateway would not work, and names the setting: %s', (name, changes) => {
    const { status, stderr } = helm(
      'template',
      'gw',
      chart,
      '--values',
      join(chart, 'values-production.yaml'),
      ...changes,
    );
    expect([status, stderr]).toEqual([1, expect.stringContaining(name)]);
  });
});
