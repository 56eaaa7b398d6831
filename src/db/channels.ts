import type { Database } from './database.ts';

/** A configured upstream as the draw and the caller need it; the credential is still sealed. */
export interface ChannelRow {
  id: string;
  name: string;
  adapter: string;
  baseUrl: string;
  sealedCredential: string;
  groups: string[];
  priority: number;
  weight: number;
  enabled: boolean;
  /** Open or resting: model id (or `*` for all) → unix milliseconds by the database clock until which it gets no traffic. */
  closedUntil: Record<string, number>;
}

/** All channels with their health, and the database's clock to judge it by. */
export async function listChannels(database: Database): Promise<{ channels: ChannelRow[]; nowMs: number }> {
  const rows = await database.query<{
    id: string;
    name: string;
    adapter: string;
    base_url: string;
    credential: string;
    groups: string[];
    priority: number;
    weight: number;
    enabled: boolean;
    closed_until: Record<string, number> | null;
    now_ms: number;
  }>({
    name: 'list-channels',
    text: `select c.id, c.name, c.adapter, c.base_url, c.credential, c.groups, c.priority, c.weight, c.enabled,
             (select jsonb_object_agg(h.model_id, extract(epoch from h.closed_until) * 1000) from channel_health h
              where h.channel_id = c.id and h.closed_until > clock_timestamp()) as closed_until,
             extract(epoch from clock_timestamp())::float8 * 1000 as now_ms
           from channel c order by c.priority, c.name`,
  });
  return {
    nowMs: rows[0]?.now_ms ?? 0,
    channels: rows.map((row) => ({
      id: row.id,
      name: row.name,
      adapter: row.adapter,
      baseUrl: row.base_url,
      sealedCredential: row.credential,
      groups: row.groups,
      priority: row.priority,
      weight: row.weight,
      enabled: row.enabled,
      closedUntil: row.closed_until ?? {},
    })),
  };
}

/** Keeps a channel out of the draw for `seconds`; `*` for all its models. */
export async function restChannel(
  database: Database,
  rest: { channelId: string; modelId: string; seconds: number; reason: string },
): Promise<void> {
  await database.query({ name: 'rest-channel', text: 'select rest_channel($1, $2, $3, $4)' }, [
    rest.channelId,
    rest.modelId,
    rest.seconds,
    rest.reason,
  ]);
}
