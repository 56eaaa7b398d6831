import { z } from 'zod';
import { fieldPaths } from './field-paths.ts';
import type { Recorded } from './recorder.ts';

const RecordedFields = z.record(z.string(), z.array(z.string()));

/** The fields that programs send, by program, beside those that earlier runs have seen. */
export class FieldLog {
  readonly #recorded: Record<string, string[]>;
  readonly #seen = new Map<string, Map<string, boolean>>();

  /** `recorded` is the text of recorded-fields.json. */
  constructor(text: string) {
    this.#recorded = RecordedFields.parse(JSON.parse(text));
  }

  add(program: string, requests: readonly Recorded[]): void {
    const seen = this.#seen.get(program) ?? new Map<string, boolean>();
    this.#seen.set(program, seen);
    for (const { body, ignored } of requests) {
      const leftOut = ignored.map((path) => path.replaceAll(/\.\d+(?=\.|$)/g, '.*'));
      for (const path of body ? fieldPaths(body) : []) {
        const plain = path.replaceAll(/\([^)]*\)/g, '');
        seen.set(path, seen.get(path) === true || leftOut.includes(plain));
      }
    }
  }

  /** A line for each field that no program has sent before, with what the gateway did with it. */
  newFields(): string[] {
    const recordedPaths = new Set(Object.values(this.#recorded).flat());
    return [...this.#seen].flatMap(([program, paths]) =>
      [...paths].flatMap(([path, isLeftOut]) =>
        recordedPaths.has(path)
          ? []
          : [`${program} sends ${path}, which nobody has seen (${isLeftOut ? 'left out' : 'taken'})`],
      ),
    );
  }

  /** The text of recorded-fields.json with the fields of this run as well: runs of one version differ. */
  toText(): string {
    const ran = [...this.#seen].map(([program, paths]) => [
      program,
      [...new Set([...(this.#recorded[program] ?? []), ...paths.keys()])].sort(),
    ]);
    return `${JSON.stringify({ ...this.#recorded, ...Object.fromEntries(ran) }, null, 2)}\n`;
  }
}
