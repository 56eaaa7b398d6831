import { LockMode, raw } from '@mikro-orm/postgresql';
import { ApiKey } from './api-key.ts';
import { ApiKeySecret } from './api-key-secret.ts';
import { Channel } from './channel.ts';
import { ChannelHealth } from './channel-health.ts';
import { CreditAccount } from './credit-account.ts';
import { Project } from './project.ts';
import { TaskResolution } from './task-resolution.ts';

/**
 * The tables that operators' commands reach through MikroORM. All other tables are reached through prepared statements only.
 * A table has its snake_case name, and so has each column.
 */
export const entities = [ApiKey, ApiKeySecret, Channel, ChannelHealth, CreditAccount, Project, TaskResolution];

export { ApiKey, ApiKeySecret, Channel, ChannelHealth, CreditAccount, LockMode, Project, TaskResolution, raw };
