import { OperatorError } from '../operator-error.ts';

/**
 * Why a key of the playground keeps its limits and its secret: another limit or a secret of its own would let it outlive the session
 * that it belongs to, or spend more than the cap that an operator was given.
 */
export class PlaygroundKeyRefusal extends OperatorError {
  constructor(keyId: string) {
    super(`${keyId} is a key of the playground. Its limits and its secret cannot be changed. Create another key.`);
  }
}
