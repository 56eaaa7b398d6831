import { allVerbs } from '../../verbs/table.ts';
import type { Operation } from '../openapi/operation.ts';
import { operationName } from '../openapi/describe-routes.ts';
import { adminPrefix } from './admin-prefix.ts';
import { consoleOperations } from './console-operations.ts';
import { verbOperation } from './verb-operation.ts';

/** Every route of the admin API by method and path, in the order of its document. */
export const adminOperations = (): Record<string, Operation<string>> => ({
  ...Object.fromEntries(
    allVerbs().flatMap(({ name, verb }) => {
      const { route } = verb;
      if ('local' in route) return [];
      const address = operationName({ method: route.method, path: `${adminPrefix}${route.path}` });
      return [[address, verbOperation(name, verb, route)]];
    }),
  ),
  ...consoleOperations,
});
