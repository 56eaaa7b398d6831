import { isGrpcServiceError, type ConnectionLike } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { searchAttributes } from '../../domain/tasks/workflow-contract.ts';
import { grpcNotFound } from './temporal-errors.ts';

/** Registers the namespace if a wiped server lacks it. Rejects if this client may not describe namespaces, as on hosted servers. */
export async function ensureNamespace({ workflowService }: ConnectionLike, namespace: string): Promise<void> {
  try {
    await workflowService.describeNamespace({ namespace });
  } catch (error) {
    if (!hasCode(error, grpcNotFound)) throw error;
    const retention = { workflowExecutionRetentionPeriod: msToTs(closedWorkflowsKept) };
    await workflowService.registerNamespace({ namespace, ...retention }).catch((refused: unknown) => {
      // Another worker has registered it meanwhile.
      if (!hasCode(refused, grpcAlreadyExists)) throw refused;
    });
  }
}

/**
 * Registers our search attributes. A wiped server has none, and the development server reads them from its command line only
 * for a new file.
 */
export async function ensureSearchAttributes({ operatorService }: ConnectionLike, namespace: string): Promise<void> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  const missing = Object.values(searchAttributes).filter((name) => !(name in customAttributes));
  if (missing.length === 0) return;
  await operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, keywordType])),
  });
}

/** For the Temporal UI only. The state of record is in the database. */
const closedWorkflowsKept = '3 days';
const keywordType = 2;
const grpcAlreadyExists = 6;

const hasCode = (error: unknown, code: number): boolean => isGrpcServiceError(error) && Number(error.code) === code;
