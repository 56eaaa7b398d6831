import { describe, expect, it } from '@jest/globals';
import type { TaskErrorCode, TaskStatus } from '../../../src/domain/tasks/task.ts';
import {
  legacyCreated,
  legacyResult,
  legacyVideoStatus,
  legacyWorkflowStatus,
  type LegacyTask,
} from '../../../src/http/dialects/legacy/legacy-task.ts';
import { spec } from '../../spec/spec.ts';

const task = (
  status: TaskStatus,
  errorCode: TaskErrorCode | null = null,
  urls: string[] = [],
  progress: number | null = null,
): LegacyTask => ({ id: 'task_1', status, progress, errorCode, urls });

describe('a legacy reply', () => {
  it.each([
    ['queued', 'pending'],
    ['processing', 'processing'],
    ['succeeded', 'completed'],
    ['failed', 'failed'],
    ['canceled', 'failed'],
  ] as const)('maps the task status %s to the legacy status %s', (status, word) => {
    expect(legacyCreated(task(status))).toEqual({
      success: true,
      task_id: 'task_1',
      id: 'task_1',
      status: word,
      data: { task_id: 'task_1', status: word },
    });
    expect(legacyResult(task(status))['status']).toBe(word);
    expect(legacyVideoStatus(task(status))).toMatchObject({ data: { status: word } });
    expect(legacyWorkflowStatus(task(status))['status']).toBe(word);
  });

  it('has the members of its route, with the results of a completed task or the error of a failed one', () => {
    spec('4.6 result', '4.6 video status');
    const done = task('succeeded', null, ['https://a.example/1', 'https://a.example/2'], 100);
    expect(legacyResult(done)).toEqual({
      success: true,
      id: 'task_1',
      task_id: 'task_1',
      status: 'completed',
      progress: 100,
      results: [{ url: 'https://a.example/1' }, { url: 'https://a.example/2' }],
      error: null,
    });
    expect(legacyVideoStatus(done)).toEqual({
      success: true,
      data: {
        task_id: 'task_1',
        status: 'completed',
        progress: 100,
        url: 'https://a.example/1',
        urls: ['https://a.example/1', 'https://a.example/2'],
        error: null,
      },
    });
    expect(legacyWorkflowStatus(done)).toEqual({
      success: true,
      uuid: 'task_1',
      status: 'completed',
      progress: 100,
      images: ['https://a.example/1', 'https://a.example/2'],
      error: null,
    });
    const error = { code: 'task_timeout', message: 'The task did not finish before its deadline.', retryable: true };
    const failed = task('failed', 'task_timeout');
    expect(legacyResult(failed)).toMatchObject({ success: true, results: [], progress: null, error });
    expect(legacyVideoStatus(failed)).toMatchObject({ success: true, data: { url: null, urls: [], error } });
    expect(legacyWorkflowStatus(failed)).toMatchObject({ success: true, images: [], error });
  });

  it('has canceled: true only for a canceled task', () => {
    spec('4.6 workflow status');
    expect(legacyResult(task('canceled', 'canceled'))).toMatchObject({ canceled: true, error: { code: 'canceled' } });
    expect(legacyVideoStatus(task('canceled', 'canceled'))).toMatchObject({ data: { canceled: true } });
    expect(legacyWorkflowStatus(task('canceled', 'canceled'))).toMatchObject({ canceled: true });
    expect(legacyResult(task('failed', 'upstream_failed'))).not.toHaveProperty('canceled');
  });
});
