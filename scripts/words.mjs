/** The words that name nothing in this code, and what to say instead (docs/ARCHITECTURE.md, "Words"). */
export const banned = [
  {
    words: ['place', 'places'],
    say: 'slot (of a limit), backend or store (of files), index, span or offset (in a list, a trace, a text)',
  },
  { words: ['room', 'rooms'], say: 'remaining (of a budget) or free (of a disk)' },
  { words: ['job', 'jobs'], say: 'providerJob (a provider makes it) or scheduledJob (a Schedule runs it)' },
  { words: ['operation', 'operations'], say: 'providerRef (the reference of a job at its provider)' },
  { words: ['look', 'looks'], say: 'poll, or find' },
  { words: ['news'], say: 'change' },
  { words: ['recall', 'recalled'], say: 'cached' },
  { words: ['witness', 'witnesses'], say: 'corroboration' },
  { words: ['stranger', 'strangers'], say: 'unknownKey' },
  { words: ['judge', 'judges'], say: 'decide' },
  { words: ['tried'], say: 'attempted, or attempts' },
  { words: ['asked'], say: 'the noun: request, query, response' },
  { words: ['given'], say: 'the noun: input, options, value' },
  { words: ['told'], say: 'reported, or the noun: message, warning' },
  { words: ['said'], say: 'the noun: message, text, words' },
  { words: ['sold'], say: 'sale, or offered' },
  { words: ['known'], say: 'existing, supported, recorded' },
  { words: ['ladder'], say: 'retrySchedule' },
  { words: ['whoever', 'nobody'], say: 'who it is' },
  { words: ['verb', 'verbs'], say: 'action' },
];

/** Names that keep such a word, because something outside of the code relies on them. `files` are the starts of paths; absent: everywhere. */
export const kept = [
  {
    why: "OpenAPI's term for a method of a path.",
    files: [
      'src/http/',
      'console/src/api/',
      'packages/tollgate-js/',
      'test/http/openapi/',
      'test/support/undocumented.ts',
    ],
    names: [
      ...[
        'operation',
        'operations',
        'Operation',
        'operationId',
        'operationName',
        'actionOperation',
        'action-operation',
      ],
      ...['adminOperations', 'admin-operations', 'consoleOperations', 'console-operations', 'accountOperations'],
      ...['chatOperations', 'documentationOperations', 'fileOperations', 'geminiOperations', 'legacyOperations'],
      ...['mcpOperations', 'mediaOperations', 'modelOperations', 'taskOperations', 'v1ChatOperations'],
      ...['v1MediaOperations', 'webhookOperations'],
    ],
  },
  {
    why: 'The column `attempt.operation`, the member `operation` of the admin API, a label of a metric, an option of sharp.',
    names: ['operation'],
  },
  {
    why: "Google's long-running operations, and Temporal's class.",
    names: ['operationPath', 'startWorkflowOperation'],
  },
  { why: 'A count of rows in a test of crash points.', files: ['test/faults/'], names: ['operations'] },
  {
    why: 'Temporal records it: a workflow, an activity, two types of failures.',
    names: ['job', 'runJob', 'JobHeld', 'JobFailed'],
  },
  { why: 'The command `tollgate jobs`, the page `/console/jobs`, a field of the log.', names: ['jobs'] },
  {
    why: 'Error codes and classes, error meanings, alarms, keys of dev.json, members of summaries.',
    names: [
      ...['invalid_job_token', 'job_token', 'internal_job_token', 'unknown_job', 'job_failed', 'job_lost'],
      ...['job_runs_deleted', 'channel_witnesses_deleted'],
    ],
  },
  { why: 'Tables and columns.', names: ['job_run', 'channel_witness', 'parkedJobs', 'creditsGivenBack', 'givenInAll'] },
  {
    why: 'Members of the admin API, of `--json`, of audit entries and of the log.',
    names: ['asked', 'given', 'given_in_all', 'credits_given_back', 'workflowTold', 'workflow_told', 'place'],
  },
  {
    why: 'Generated from the documents of the APIs.',
    files: ['console/src/api/'],
    names: ['JobRun', 'RunningJob', 'get_jobs_list', 'post_jobs_run'],
  },
];
