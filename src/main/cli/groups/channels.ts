import type { Command } from 'commander';
import { z } from 'zod';
import { setChannelEnabled } from '../../../commands/set-channel-enabled.ts';
import { listChannelStates, type ChannelState } from '../../../db/operators.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { shortText } from '../input.ts';
import { database, type DatabaseDeps } from '../operator-deps.ts';
import { clean, table, time } from '../plain-text.ts';

/** `tollgate channels …`: the configured upstreams. */
export function registerChannels(root: Command, invocation: Invocation): void {
  const group = root.command('channels').description('the configured upstreams');
  defineCommand(group, 'list', invocation, {
    summary: 'list channels in the order of the draw, and what keeps any out of it',
    input: z.object({}),
    needs: database,
    run: list,
  });
  for (const [name, enabled, summary] of switches) {
    defineCommand(group, name, invocation, {
      summary,
      usage: (command) => command.argument('<channel>', 'its name, or its id'),
      input: z.object({ channel: shortText }),
      needs: database,
      run: (deps, { channel }, actor) => turn(deps, { channel, enabled, actor }),
    });
  }
}

const switches = [
  ['enable', true, 'let a channel take new attempts'],
  ['disable', false, 'give a channel no new attempts; accepted jobs go on'],
] as const;

async function list({ db }: DatabaseDeps): Promise<Report> {
  const rows = (await listChannelStates(db)).map((row) => ({ ...row, state: stateOf(row) }));
  const text = table(
    rows.map((row) => ({
      name: row.name,
      channel_id: row.channel_id,
      adapter: row.adapter,
      base_url: row.base_url,
      groups: row.groups.join(','),
      priority: row.priority,
      weight: row.weight,
      enabled: row.enabled ? 'yes' : 'no',
      state: [row.state, ...row.rests.map(restText)].join('; '),
    })),
    'There are no channels.',
  );
  return { document: { data: rows }, text };
}

function stateOf({ enabled, rests }: ChannelState): 'ready' | 'resting' | 'disabled' {
  if (!enabled) return 'disabled';
  return rests.length > 0 ? 'resting' : 'ready';
}

const restText = ({ model, until, reason }: ChannelState['rests'][number]): string =>
  `${model === '*' ? 'all models' : model} until ${time(until) ?? ''}${reason === null ? '' : ` (${reason})`}`;

async function turn(deps: DatabaseDeps, given: { channel: string; enabled: boolean; actor: string }): Promise<Report> {
  const { channelId, name, enabled, changed } = await setChannelEnabled(deps, given);
  const word = enabled ? 'enabled' : 'disabled';
  return {
    document: { channel_id: channelId, name, enabled, changed },
    text: changed ? `${clean(name)} is ${word} now.` : `${clean(name)} was ${word} before. Nothing was changed.`,
  };
}
