import { z } from 'zod';
import { ConfigError } from './config-error.ts';
import { withSecretFiles } from './secret-files.ts';
import { serverSettings } from './server-settings.ts';
import { environmentNames, fixedNames } from './setting.ts';
import { workSettings } from './work-settings.ts';

export { ConfigError };

const groups = { ...serverSettings, ...workSettings };

const declared = Object.entries<z.ZodObject<Record<string, z.ZodType>>>(groups).flatMap(([group, { shape }]) =>
  Object.entries(shape).map(([key, schema]) => {
    const fixedName = fixedNames.get(schema)?.name;
    const name = fixedName ?? environmentNames.get(schema)?.name;
    const purpose = schema.description;
    if (!name || !purpose) throw new Error(`${group}.${key} is declared without an environment variable or a purpose`);
    return { group, key, schema, name, purpose, isFixed: fixedName !== undefined };
  }),
);

/** Every setting with its group and key in `Config`, its environment variable and what it is for. */
export const listedSettings = declared.filter(({ isFixed }) => !isFixed);

/** The variables of this environment that were settings up to 0.2.0 and are ignored now, except those that a test has tuned. */
export const ignoredSettings = (environment: Record<string, string | undefined>): string[] =>
  declared
    .filter(({ name, isFixed }) => isFixed && Boolean(environment[name]) && tuned[name] === undefined)
    .map(({ name }) => name);

/** The fixed numbers that a test has changed, by name. */
let tuned: Record<string, string | undefined> = {};

/** For tests: the fixed numbers of later `loadConfig` calls in this process, by the names of the settings that they once were. */
export function tune(numbers: Record<string, string | undefined>): void {
  tuned = numbers;
}

/** For the answer to a submit: its results are copied and the end of the attempt is written. */
const AFTER_SUBMIT_SECONDS = 15;

const ConfigSchema = z.object(groups).superRefine((config, context) => {
  const refuse = (group: string, key: string, message: string) =>
    context.addIssue({ code: 'custom', path: [group, key], message });
  const { alarms, attempts, development, egress, files, oidc, temporal, worker } = config;
  // Production never has a sandbox, so a left-over crash point or open address range cannot do harm there.
  const developmentOnly = 'is for development only and requires SANDBOX_URL';
  if (development.sandboxUrl === '') {
    if (development.crashPoint !== null) refuse('development', 'crashPoint', developmentOnly);
    if (egress.allowCidrs.length > 0) refuse('egress', 'allowCidrs', developmentOnly);
  }
  if (files.driver === 's3') {
    for (const key of ['s3Bucket', 's3AccessKeyId', 's3SecretAccessKey'] as const) {
      if (files[key] === '') refuse('files', key, 'is required with FILES_DRIVER=s3');
    }
  }
  const longestSubmit = Math.max(attempts.submitTimeoutSeconds, attempts.synchronousTimeoutSeconds);
  if (worker.shutdownForceSeconds < longestSubmit + AFTER_SUBMIT_SECONDS) {
    refuse(
      'worker',
      'shutdownForceSeconds',
      `must be at least ${AFTER_SUBMIT_SECONDS} seconds longer than SUBMIT_TIMEOUT_SECONDS and SUBMIT_AT_ONCE_TIMEOUT_SECONDS, otherwise each release loses pictures that a provider is making`,
    );
  }
  if ((alarms.smtpUrl === '') !== (alarms.emailTo.length === 0)) {
    refuse('alarms', 'smtpUrl', 'and ALARM_EMAIL_TO must be set together');
  }
  if (oidc.issuer !== '' && oidc.clientId === '') refuse('oidc', 'clientId', 'is required with OIDC_ISSUER');
  if ((temporal.certFile === '') !== (temporal.keyFile === '')) {
    refuse('temporal', 'certFile', 'and TEMPORAL_TLS_KEY_FILE must be set together');
  }
});

type Parsed = z.infer<typeof ConfigSchema>;
/** The whole configuration, by subject. A function takes the group that it needs. */
export type Config = { readonly [Group in keyof Parsed]: Readonly<Parsed[Group]> };

/** Reads and checks the environment and the files of secrets; nothing else does. Throws `ConfigError` with one line per variable at fault. */
export const loadConfig = (environment: Record<string, string | undefined>): Config => read(ConfigSchema, environment);

/** Where the catalog is and what a credit is worth, for commands that work without an installation. Throws `ConfigError`. */
export const loadCatalogSettings = (
  environment: Record<string, string | undefined>,
): Pick<Config, 'catalog' | 'accounting'> =>
  read(z.object({ catalog: groups.catalog, accounting: groups.accounting }), environment);

function read<Schema extends z.ZodType>(
  schema: Schema,
  environment: Record<string, string | undefined>,
): z.output<Schema> {
  const env = withSecretFiles(environment);
  const grouped: Record<string, Record<string, string | undefined>> = {};
  for (const { group, key, name, isFixed } of declared) {
    const source = isFixed ? tuned : env;
    // Compose files and shells set variables to the empty string, which means the default.
    (grouped[group] ??= {})[key] = source[name] === '' ? undefined : source[name];
  }
  const parsed = schema.safeParse(grouped);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => {
    const name = declared.find(({ group, key }) => group === issue.path[0] && key === issue.path[1])?.name ?? '';
    return issue.code !== 'custom' && !env[name] ? `${name} is required` : `${name} ${issue.message}`;
  });
  throw new ConfigError(lines);
}
