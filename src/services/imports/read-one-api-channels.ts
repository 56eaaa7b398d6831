import type { SourceRow } from '../../db/imports/source-database.ts';
import { channelTarget, targetUrl } from '../../domain/imports/channel-types.ts';
import type { ImportedChannel } from '../../domain/imports/imported.ts';
import { readPriorities } from '../../domain/imports/priorities.ts';
import type { OneApiImport } from './one-api-import.ts';
import { columnNumber, columnText, countOne, jsonOf, objectOf, wordsOf } from './source-values.ts';

const enabledChannel = 1;
const columns = [
  'id',
  'type',
  'key',
  'status',
  'name',
  'weight',
  'base_url',
  'models',
  'group',
  'model_mapping',
  'priority',
  'channel_info',
  'config',
  'system_prompt',
  'param_override',
  'header_override',
  'setting',
  'remark',
  'tag',
];

/** Channels keep their order: the programs try the highest priority first, here the lowest number. A weight of 0 there means equal. */
export async function readOneApiChannels(context: OneApiImport): Promise<void> {
  const { source, installation } = context;
  const rows = await source.rows('channels', columns);
  const priorityOf = readPriorities(rows.map((row) => columnNumber(row, 'priority') ?? 0));
  for (const row of rows) {
    const channel = toChannel(context, row, priorityOf(columnNumber(row, 'priority') ?? 0));
    if (channel) installation.channels.push(channel);
  }
}

function toChannel({ program, installation }: OneApiImport, row: SourceRow, priority: number): ImportedChannel | null {
  const type = columnNumber(row, 'type') ?? 0;
  const subject = `channel ${columnText(row, 'id')} (${columnText(row, 'name')})`;
  const leaveOut = (sentence: string): null => {
    countOne(installation.leftOut, 'channels');
    installation.notices.push({ kind: 'left_out', subject, sentence });
    return null;
  };
  const target = channelTarget(program, type);
  if (!target) return leaveOut(`is of type ${type}, which no adapter here speaks.`);
  const baseUrl = targetUrl(target, columnText(row, 'base_url'));
  if (baseUrl === null || !URL.canParse(baseUrl)) return leaveOut('has no address.');
  const credentials = credentialsOf(row);
  if (credentials.length === 0) return leaveOut('has no key that can be sent in a header.');
  for (const [column, words] of Object.entries(unreadSettings)) {
    const value = columnText(row, column);
    if (value !== '' && value !== '{}' && value !== 'null')
      installation.notices.push({ kind: 'check', subject, sentence: `has ${words}, which is not imported.` });
  }
  const mapping = objectOf(jsonOf(columnText(row, 'model_mapping')));
  return {
    id: columnText(row, 'id'),
    name: columnText(row, 'name'),
    family: target.family,
    baseUrl,
    credentials,
    groups: wordsOf(columnText(row, 'group') || 'default'),
    priority,
    weight: Math.min(10_000, Math.max(1, Math.trunc(columnNumber(row, 'weight') ?? 1))),
    enabled: columnNumber(row, 'status') === enabledChannel,
    rpm: null,
    tpm: null,
    models: Object.fromEntries(
      wordsOf(columnText(row, 'models')).map((model) => {
        const name = mapping[model];
        return [model, typeof name === 'string' && name !== '' ? name : model];
      }),
    ),
  };
}

const unreadSettings: Readonly<Record<string, string>> = {
  system_prompt: 'a system prompt',
  param_override: 'an override of parameters',
  header_override: 'an override of headers',
};

/** One key a line. In new-api a multi-key channel may be a JSON list, and some of its keys disabled. */
function credentialsOf(row: SourceRow): string[] {
  const text = columnText(row, 'key').trim();
  const parsed = text.startsWith('[') ? jsonOf(text) : null;
  const all = Array.isArray(parsed)
    ? parsed.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
    : text.split('\n').map((line) => line.trim());
  const states = objectOf(objectOf(jsonOf(row['channel_info']))['multi_key_status_list']);
  const enabled = all.filter((_key, index) => (states[String(index)] ?? enabledChannel) === enabledChannel);
  return [...new Set(enabled)].filter((key) => /^[\x20-\x7e]{1,16000}$/.test(key));
}
