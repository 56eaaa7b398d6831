import { describedAdminRoutes, describedRoutes } from '../http/openapi/described-routes.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';
import type { GreedyRequest } from './greedy-callers.ts';

interface Targets {
  project: TestProject;
  taskId: string;
  adminToken: string;
}

/** A request for the largest page of every list, of clients and of operators. */
export function greedyLists(gateway: Gateway, { project, taskId, adminToken }: Targets): GreedyRequest[] {
  const pathValues: Record<string, string> = { ':task_id': taskId, ':model': 'gpt-5-mini', ':channel': 'sandbox' };
  const admin = `http://127.0.0.1:${gateway.env['ADMIN_PORT']}`;
  return [...describedRoutes(), ...describedAdminRoutes()]
    .filter(({ isList, path }) => isList && !path.endsWith('/secret'))
    .map(({ path, auth, query = {} }) => {
      const isAdmin = auth === 'admin';
      const filled = path.replace(/:\w+/g, (name) => pathValues[name] ?? (path.includes('/tasks/') ? taskId : name));
      const all = new URLSearchParams();
      if ('limit' in query && 'after' in query) all.set('limit', isAdmin ? '10000' : '100');
      if ('project' in query && /(credits|ledger|usage)$/.test(path)) all.set('project', project.projectId);
      return {
        name: `GET ${path.replaceAll('\\', '')}`,
        url: `${isAdmin ? admin : gateway.baseUrl}${filled}?${all.toString()}`,
        method: 'GET' as const,
        headers: { authorization: `Bearer ${isAdmin ? adminToken : project.apiKey}` },
      };
    });
}

/** A body with a list of so many parts for every route that takes one. */
export function greedyBodies({ baseUrl }: Gateway, { apiKey }: TestProject, count: number): GreedyRequest[] {
  const headers = { authorization: `Bearer ${apiKey}` };
  const part = '{"type":"text","text":""}';
  const forms: [path: string, head: string, item: string, tail: string][] = [
    ['/api/v1/chat/completions', chatHead('messages'), part, ']}]}'],
    ['/v1/chat/completions', chatHead('messages'), part, ']}]}'],
    ['/v1/messages', chatHead('messages'), part, ']}]}'],
    ['/v1/messages/count_tokens', chatHead('messages'), part, ']}]}'],
    [
      '/v1/responses',
      '{"model":"gpt-5-mini","input":[{"role":"user","content":[',
      '{"type":"input_text","text":""}',
      ']}]}',
    ],
    ['/v1beta/models/gpt-5-mini:generateContent', '{"contents":[{"role":"user","parts":[', '{"text":""}', ']}]}'],
    ['/v1beta/models/aurora-image-1:predict', '{"instances":[', '{"prompt":""}', ']}'],
    ['/api/v1/images/generate', '{"model":"aurora-image-1","prompt":"a fox","image_urls":[', '{}', ']}'],
    ['/v1/images/edits', '{"model":"aurora-image-1","prompt":"a fox","images":[', '{}', ']}'],
    ['/mcp', '[', '{"jsonrpc":"2.0","id":1,"method":"ping"}', ']'],
  ];
  return forms.map(([path, head, item, tail]) => ({
    name: `POST ${path} with ${count.toLocaleString('en-US')} parts`,
    url: baseUrl + path,
    method: 'POST',
    headers,
    body: { head, item, count: Math.min(count, Math.floor(bodyBytesMax / (item.length + 1))), tail },
  }));
}

/** Just below the largest body. */
const bodyBytesMax = 3_990_000;

const chatHead = (name: string): string =>
  `{"model":"gpt-5-mini","max_tokens":16,"${name}":[{"role":"user","content":[{"type":"text","text":"Hello"},`;
