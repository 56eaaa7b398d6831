import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';

/** The answer to a read of a task, as it is sent. */
export interface TaskAnswer {
  body: Buffer;
  /** A strong entity tag of the body. */
  etag: string;
}

export interface TaskAnswers {
  /** The kept answer to this project, or null. `form` names the format of the answer. */
  find(request: RequestedTask, form: string): TaskAnswer | null;
  /** Call it before the task is read, and the result with the answer. Then no answer is kept that changed after the read. */
  reading(): (request: RequestedTask, form: string, answer: TaskAnswer) => void;
  /** The answers about these tasks changed; without ids all of them may have. */
  forget(taskIds: readonly string[]): void;
}

export interface RequestedTask {
  projectId: string;
  taskId: string;
}

interface Kept {
  projectId: string;
  /** By form. */
  answers: Map<string, TaskAnswer>;
}

/** Of one process. It holds the answers of some 20,000 tasks with a short prompt and one picture. */
const bytesMax = 32_000_000;
/** What an entry takes beside its bodies. Also bounds the number of entries. */
const entryBytes = 500;

/**
 * Keeps the answers about ended tasks in the memory of this process, from the second read on: most clients read an ended task once, and
 * keeping answers from the first read on would make that read take 86 µs instead of 76 (23 November 2026). Such an answer changes only by
 * `erase_contents`, `purge_tasks` and `redeliver`, which announce it (`notify_tasks.sql`). Nothing is kept or found while `isCurrent` is
 * false, that is while an announcement may have been missed.
 */
export function createTaskAnswers(isCurrent: () => boolean): TaskAnswers {
  const kept = new LRUCache<string, Kept>({ maxSize: bytesMax, sizeCalculation: weightOf });
  const wasRequested = createRecentIds();
  let changes = 0;
  return {
    find({ projectId, taskId }, form) {
      const found = kept.get(taskId);
      // Another project's task is read as an unknown one is, so that not even the time of the answer tells that it exists.
      if (found?.projectId !== projectId || !isCurrent()) return null;
      return found.answers.get(form) ?? null;
    },
    reading() {
      const before = changes;
      return ({ projectId, taskId }, form, answer) => {
        if (changes !== before || !isCurrent() || !wasRequested(taskId)) return;
        const others = kept.get(taskId)?.answers ?? [];
        kept.set(taskId, { projectId, answers: new Map([...others, [form, answer]]) });
      };
    },
    forget(taskIds) {
      changes += 1;
      if (taskIds.length === 0) kept.clear();
      for (const taskId of taskIds) kept.delete(taskId);
    },
  };
}

/** Whether an id was asked about before, as far as it is remembered: each slot remembers the last id that fell on it. */
function createRecentIds(slots = 65_536): (id: string) => boolean {
  const last = new Uint32Array(slots);
  return (id) => {
    const mark = crc32(id);
    const slot = mark % slots;
    const wasSeen = last[slot] === mark;
    last[slot] = mark;
    return wasSeen;
  };
}

const weightOf = ({ answers }: Kept): number =>
  [...answers.values()].reduce((bytes, { body }) => bytes + body.length + entryBytes, entryBytes);
