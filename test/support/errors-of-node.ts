import { isNativeError } from 'node:util/types';

/**
 * Jest runs each test file in a realm of its own, and the modules of Node, such as `fs` and `fetch`, throw errors of the realm outside. In
 * production there is one realm. With this, `instanceof` of the standard errors holds for both realms in tests too.
 */
for (const standard of [Error, TypeError, RangeError, SyntaxError]) {
  Object.defineProperty(standard, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      return isInstance.call(this as never, value) || (this === standard && isOutside(standard.name, value));
    },
  });
}

const isInstance = Function.prototype[Symbol.hasInstance];

function isOutside(name: string, value: unknown): boolean {
  if (!isNativeError(value)) return false;
  const kinds = [];
  for (let kind: unknown = value; kind !== null; kind = Object.getPrototypeOf(kind)) kinds.push(kind);
  return kinds.some((kind) => (kind as Error).constructor.name === name);
}
