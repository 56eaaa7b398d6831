/** Every page of the console that shows data, by its name. */
export const consolePages = ({
  taskId,
  projectId,
  model,
}: Record<'taskId' | 'projectId' | 'model', string>): Readonly<Record<string, string>> => ({
  overview: '/overview',
  tasks: '/tasks',
  task: `/tasks/${taskId}`,
  models: '/models',
  model: `/models/${model}`,
  channels: '/channels',
  projects: '/projects',
  project: `/projects/${projectId}`,
  deliveries: '/deliveries',
  audit: '/audit',
  jobs: '/jobs',
  summaries: '/summaries',
});
