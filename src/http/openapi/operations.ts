import type { Operation } from './operation.ts';
import { accountOperations } from './operations/account.ts';
import { chatOperations } from './operations/chat.ts';
import { documentationOperations } from './operations/documentation.ts';
import { fileOperations } from './operations/files.ts';
import { geminiOperations } from './operations/gemini.ts';
import { legacyOperations } from './operations/legacy.ts';
import { mcpOperations } from './operations/mcp.ts';
import { mediaOperations } from './operations/media.ts';
import { modelOperations } from './operations/models.ts';
import { taskOperations } from './operations/tasks.ts';
import { v1ChatOperations } from './operations/v1-chat.ts';
import { v1MediaOperations } from './operations/v1-media.ts';
import { webhookOperations } from './operations/webhooks.ts';

/** Every client route by method and path, in the order of the document. A test holds the names to the route table. */
export const operations: Readonly<Record<string, Operation>> = {
  ...modelOperations,
  ...chatOperations,
  ...v1ChatOperations,
  ...mediaOperations,
  ...taskOperations,
  ...webhookOperations,
  ...fileOperations,
  ...accountOperations,
  ...geminiOperations,
  ...v1MediaOperations,
  ...mcpOperations,
  ...legacyOperations,
  ...documentationOperations,
};
