import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { parseDocument } from 'yaml';
import { SourceError } from '../../db/imports/source-database.ts';
import { providerTarget, targetUrl } from '../../domain/imports/channel-types.ts';
import { emptyInstallation, type ImportedChannel, type ImportedInstallation } from '../../domain/imports/imported.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';
import { countOne, finiteNumber, objectOf } from './source-values.ts';

type SourceEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Reads `config.yaml` of the LiteLLM proxy: the deployments of `model_list` with one provider, address and key become a channel. Values such
 * as `os.environ/NAME` are taken from `env`. Throws `SourceError`.
 */
export async function readLitellmConfig(
  path: string,
  env: SourceEnvironment,
  creditValue: number,
): Promise<ImportedInstallation> {
  const name = basename(path);
  const text = await readFile(path, 'utf8');
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) throw new SourceError(`${name} is no YAML, it may be cut off: ${error.message.split('\n')[0] ?? ''}`);
  const config = objectOf(document.toJS());
  const list = config['model_list'];
  if (!Array.isArray(list))
    throw new SourceError(`${name} has no model_list. It is no config.yaml of the LiteLLM proxy.`);
  const installation = emptyInstallation();
  // Half a list is valid YAML.
  if (!text.endsWith('\n'))
    installation.notices.push({ kind: 'check', subject: name, sentence: 'ends inside a line: it may be cut off.' });
  const channels = new Map<string, ImportedChannel>();
  const credentials = namedCredentials(config['credential_list']);
  for (const entry of list) addDeployment(installation, channels, objectOf(entry), { env, credentials, creditValue });
  installation.channels.push(...channels.values());
  for (const section of ['router_settings', 'mcp_servers', 'guardrails', 'vector_store_registry', 'search_tools'])
    if (config[section] !== undefined) countOne(installation.leftOut, `section ${section}`);
  if (objectOf(config['general_settings'])['master_key'] !== undefined) {
    const sentence = 'is no key of a customer. If clients use it, give each a key: keys create --secret -.';
    installation.notices.push({ kind: 'check', subject: 'the master key', sentence });
  }
  return installation;
}

const namedCredentials = (list: unknown): Map<string, Record<string, unknown>> =>
  new Map(
    (Array.isArray(list) ? list : []).map((entry) => {
      const { credential_name: name, credential_values: values } = objectOf(entry);
      return [String(name), objectOf(values)] as const;
    }),
  );

interface DeploymentContext {
  env: SourceEnvironment;
  credentials: ReadonlyMap<string, Record<string, unknown>>;
  creditValue: number;
}

function addDeployment(
  installation: ImportedInstallation,
  channels: Map<string, ImportedChannel>,
  entry: Record<string, unknown>,
  { env, credentials, creditValue }: DeploymentContext,
): void {
  const ownParams = objectOf(entry['litellm_params']);
  const params = { ...credentials.get(trimmedText(ownParams['litellm_credential_name'])), ...ownParams };
  const alias = trimmedText(entry['model_name']);
  const subject = `model ${alias}`;
  const leaveOut = (sentence: string): void => {
    countOne(installation.leftOut, 'models of config.yaml');
    installation.notices.push({ kind: 'left_out', subject, sentence });
  };
  const check = (sentence: string) => void installation.notices.push({ kind: 'check', subject, sentence });
  const missing = alias === '' ? 'model_name' : trimmedText(params['model']) === '' ? 'litellm_params.model' : null;
  if (missing !== null) {
    const sentence = `has no ${missing}. The file may be cut off.`;
    return void installation.notices.push({ kind: 'refused', subject, sentence });
  }
  const { provider, model } = splitModel(trimmedText(params['model']), trimmedText(params['custom_llm_provider']));
  const target = providerTarget(provider);
  if (!target) return leaveOut(`is of the provider ${provider}, which no adapter here speaks.`);
  const address = fromEnvironment(trimmedText(params['api_base'] ?? params['base_url']), env);
  const key = trimmedText(params['api_key']);
  // Without a key LiteLLM takes the variable of its provider.
  const credential = fromEnvironment(key === '' ? `os.environ/${provider.toUpperCase()}_API_KEY` : key, env);
  if (credential === null || address === null) {
    const variable = credential === null ? key || `${provider.toUpperCase()}_API_KEY` : trimmedText(params['api_base']);
    return leaveOut(`needs ${variable.replace('os.environ/', '')} in the environment of this command.`);
  }
  const baseUrl = targetUrl(target, address);
  if (baseUrl === null || !URL.canParse(baseUrl)) return leaveOut('has no api_base.');
  if (alias.includes('*') || model.includes('*')) check('is a pattern: name the models in the catalog.');
  const id = `${provider} ${baseUrl} ${sha256Hex(credential).slice(0, 12)}`;
  const existing = channels.get(id);
  const served = existing?.models[alias];
  if (served !== undefined && served !== model)
    return leaveOut(
      `is also deployed as ${model}, with the same provider, address and key as ${served}. A model has one upstream model in each family: it is imported as ${served}. Sell ${model} as a model of its own.`,
    );
  // A deployment has limits of its own, and a channel those of all its deployments together.
  const limits = ['rpm', 'tpm'] as const;
  const ownLimit = (name: (typeof limits)[number]): number => Math.floor(finiteNumber(params[name]) ?? 0);
  const limit = (name: (typeof limits)[number]): number | null => {
    const own = ownLimit(name);
    if (own < 1 && params[name] != null) check(`has ${own} as ${name}: its channel has no such limit.`);
    return own < 1 || existing?.[name] === null ? null : Math.min(2_147_483_647, own + (existing?.[name] ?? 0));
  };
  const [rpm, tpm] = [limit('rpm'), limit('tpm')];
  if (existing && limits.some((name) => (existing[name] === null) !== ownLimit(name) < 1))
    check('shares its channel with models of which some have no limit: the channel has none.');
  const channel = existing ?? {
    id,
    name: `litellm-${provider}`,
    family: target.family,
    baseUrl,
    credentials: [credential],
    groups: ['litellm'],
    priority: Math.min(10_000, Math.max(0, Math.round(finiteNumber(params['order']) ?? 1))),
    weight: Math.min(10_000, Math.max(1, Math.round(finiteNumber(params['weight']) ?? 1))),
    enabled: true,
    rpm,
    tpm,
    models: {},
  };
  Object.assign(channel, { rpm, tpm });
  if (!alias.includes('*')) channel.models[alias] = model;
  channels.set(id, channel);
  const facts = { ...params, ...objectOf(entry['model_info']) };
  if (!addPrice(installation, alias, facts, creditValue))
    check('has a price beyond the range of prices, which is not drafted.');
}

/** `provider/model`. A model without a provider is OpenAI's, or Anthropic's or Google's by its name. */
function splitModel(written: string, provider: string): { provider: string; model: string } {
  const at = written.indexOf('/');
  const before = at < 0 ? '' : written.slice(0, at);
  if (provider !== '') return { provider, model: before === provider ? written.slice(at + 1) : written };
  if (at > 0) return { provider: before, model: written.slice(at + 1) };
  return {
    provider: /^claude/.test(written) ? 'anthropic' : /^gemini/.test(written) ? 'gemini' : 'openai',
    model: written,
  };
}

/** Null for a variable that is not set, and for no value at all where one is named. */
function fromEnvironment(value: string, env: SourceEnvironment): string | null {
  if (!value.startsWith('os.environ/')) return value;
  return env[value.slice('os.environ/'.length)] ?? null;
}

/** False for a price that is negative or beyond the range of exact integers. */
function addPrice(
  installation: ImportedInstallation,
  alias: string,
  facts: Record<string, unknown>,
  creditValue: number,
): boolean {
  const [input, output, cached] = ['input_cost_per_token', 'output_cost_per_token', 'cache_read_input_token_cost'].map(
    (name) => finiteNumber(facts[name]),
  );
  if (input == null) return true;
  const per1k = (usd: number): number => Math.max(1, Math.ceil(Number(((usd * 1e9) / creditValue).toFixed(6))));
  if (![input, output ?? 0, cached ?? 0].every((usd) => usd >= 0 && Number.isSafeInteger(per1k(usd)))) return false;
  installation.prices.set(alias, {
    input: per1k(input),
    output: output == null ? null : per1k(output),
    cachedInput: cached == null ? null : per1k(cached),
    request: null,
  });
  return true;
}

const trimmedText = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');
