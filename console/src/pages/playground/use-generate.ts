import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { createPath, runTask, type ClientApi } from '../../api/playground.ts';
import type { Model, Task } from '../../api/client-types.ts';
import { words } from '../../ui/format.ts';
import type { Run } from './results.tsx';

/** Runs requests one after the other or together, and keeps what each made until the page is left. */
export function useGenerate(api: ClientApi, projectId: string, setRuns: React.Dispatch<React.SetStateAction<Run[]>>) {
  const queryClient = useQueryClient();
  const left = useRef<AbortController | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    left.current = controller;
    return () => controller.abort();
  }, []);
  const run = async ({ model, body }: { model: Model; body: Record<string, unknown> }): Promise<void> => {
    const id = `${Date.now()}-${Math.random()}`;
    const update = (changes: Partial<Run>): void =>
      setRuns((runs) => runs.map((each) => (each.id === id ? { ...each, ...changes } : each)));
    const begun: Run = {
      id,
      startedAt: Date.now(),
      prompt: promptOf(body),
      model: model.display_name,
      sent: { path: createPath(model.type), body },
      task: null,
      error: null,
    };
    setRuns((runs) => [begun, ...runs].slice(0, runsMax));
    const signal = left.current?.signal ?? new AbortController().signal;
    const onChange = (task: Task): void => update({ task });
    await runTask(api, { type: model.type, body, signal, onChange }).catch((error: unknown) => {
      if (!signal.aborted) update({ error });
    });
    update({ endedAt: Date.now() });
  };
  return useMutation({
    mutationFn: (requests: { model: Model; body: Record<string, unknown> }[]) => Promise.all(requests.map(run)),
    onSettled: () =>
      Promise.all(
        [['quote'], ['projects'], ['project', projectId], ['playground-history']].map((queryKey) =>
          queryClient.invalidateQueries({ queryKey }),
        ),
      ),
  });
}

const runsMax = 12;
const promptOf = (body: Record<string, unknown>): string =>
  typeof body['prompt'] === 'string' ? body['prompt'] : words(String(body['model']));
