import { allActions } from '../../admin/table.ts';
import type { Operation } from '../openapi/operation.ts';
import { operationName } from '../openapi/describe-routes.ts';
import { adminPrefix } from './admin-prefix.ts';
import { consoleOperations } from './console-operations.ts';
import { actionOperation } from './action-operation.ts';

/** Every route of the admin API by method and path, in the order of its document. */
export const adminOperations = (): Record<string, Operation<string>> => ({
  ...Object.fromEntries(
    allActions().flatMap(({ name, action }) => {
      const { route } = action;
      if ('local' in route) return [];
      const address = operationName({ method: route.method, path: `${adminPrefix}${route.path}` });
      return [[address, actionOperation(name, action, route)]];
    }),
  ),
  ...consoleOperations,
});
