import type { z } from 'zod';
import { asksForNothing } from '../../domain/chat/asks-for-nothing.ts';
import type { VendorApi, VendorFields } from '../../domain/chat/chat.ts';
import type { JsonObject } from '../../domain/json.ts';
import { removeUnknownFields, type FieldRules } from '../request/unknown-fields.ts';
import { validate } from '../request/validate.ts';

/** How a request is to be read. */
export interface Reading {
  /** Refuse unknown fields, as the routes of the specification do, instead of leaving them out. */
  isStrict: boolean;
  /** The beta features of its vendor that the client names (`anthropic-beta`). */
  betas?: readonly string[];
}

/** Every unknown field is refused. */
export const strictly: Reading = { isStrict: true };

/**
 * The body as the schema's type, and the fields that were left out (rules "Chat"). A strict reading refuses unknown fields, and its
 * `leftOut` is undefined.
 */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  body: JsonObject,
  rules: FieldRules,
  { isStrict }: Reading,
): { parsed: z.output<Schema>; leftOut: string[] | undefined } {
  const leftOut = isStrict ? undefined : removeUnknownFields(schema, body, rules);
  return { parsed: validate(schema, body), leftOut };
}

/** Collects the fields of a request that only the family of its own vendor is sent. */
export class VendorFieldCollector {
  readonly #paths: string[] = [];
  readonly #fields: JsonObject = {};
  #shared: readonly string[] | undefined;
  #isUsed = false;

  /**
   * The given fields of one object, which stands at `path`; undefined if there are none. A value that asks for nothing means absent. Fields without
   * effect on the answer are not named where another family is not sent them.
   */
  of(path: string, fields: JsonObject, { isWithoutEffect = false } = {}): JsonObject | undefined {
    const entries = Object.entries(fields).filter(([, value]) => !asksForNothing(value));
    if (entries.length === 0) return undefined;
    this.#isUsed = true;
    if (!isWithoutEffect) this.#paths.push(...entries.map(([key]) => (path === '' ? key : `${path}.${key}`)));
    return Object.fromEntries(entries);
  }

  /** The same for fields of the request itself or of an object in it, whose name is `within`. */
  add(fields: JsonObject, within?: string, about: { isWithoutEffect?: boolean } = {}): void {
    const kept = this.of(within ?? '', fields, about);
    if (kept) this.#put(kept, within);
  }

  /** Fields that the request has under shared names too, which other families are sent and which are named where those are left out. */
  repeat(fields: JsonObject, within: string, shared: readonly string[]): void {
    const kept = this.of(within, fields, { isWithoutEffect: true });
    if (!kept) return;
    this.#put(kept, within);
    this.#shared = shared;
  }

  #put(fields: JsonObject, within: string | undefined): void {
    if (within === undefined) Object.assign(this.#fields, fields);
    else {
      const before = this.#fields[within];
      this.#fields[within] = { ...(typeof before === 'object' && !Array.isArray(before) ? before : {}), ...fields };
    }
  }

  /** What the request says in the vendor's own words; undefined if nothing. */
  toVendor(api: VendorApi, betas: readonly string[] = []): VendorFields | undefined {
    if (!this.#isUsed && betas.length === 0) return undefined;
    return {
      api,
      fields: this.#fields,
      paths: this.#paths,
      ...(this.#shared && { shared: this.#shared }),
      ...(betas.length > 0 && { betas }),
    };
  }
}
