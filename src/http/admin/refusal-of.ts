import { CatalogError } from '../../services/catalog/catalog-error.ts';
import { OperatorError, UnknownToOperator } from '../../services/operator-error.ts';
import { GatewayError } from '../../domain/errors.ts';

/** What the client is told of an action's error. Any other error stays as it is. */
export function actionRefusalOf(error: unknown): unknown {
  if (error instanceof UnknownToOperator) return new GatewayError('not_found', { message: error.message });
  if (error instanceof OperatorError) return new GatewayError('action_refused', { message: error.message });
  if (error instanceof CatalogError) {
    return new GatewayError('invalid_value', { message: error.message, param: 'catalog', problems: error.problems });
  }
  return error;
}
