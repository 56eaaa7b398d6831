/**
 * Every refusal that Tollgate can answer, in one table. `http/error-status.ts` has the HTTP statuses and does not compile while
 * a code has none. Each dialect words the same row in its own format.
 */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'billing_error'
  | 'idempotency_error'
  | 'rate_limit_error'
  | 'server_error';

interface ErrorDescription {
  type: ErrorType;
  /** The message to the client, unless the thrower gives a more specific one. */
  message: string;
  /** False if a blind retry could cost money twice or cannot help. Sent as `x-should-retry: false`. */
  retry?: false;
}

const invalid = (message: string): ErrorDescription => ({ type: 'invalid_request_error', message, retry: false });

export const errorTable = {
  invalid_json: invalid('The body is not a JSON object.'),
  invalid_value: invalid('A field has a value that is not accepted.'),
  missing_parameter: invalid('A required field is missing.'),
  unsupported_parameter: invalid('This field is not supported here.'),
  previous_response_not_found: invalid('Responses are not stored here.'),
  model_type_mismatch: invalid('This model cannot be used on this route.'),
  // Agents recognise these words of Anthropic's and OpenAI's, and then shorten the conversation.
  context_length_exceeded: invalid(
    "The prompt is too long: it exceeds the context window. This model's maximum context length is smaller than the prompt.",
  ),
  invalid_image: invalid('The image could not be decoded.'),
  invalid_multipart: invalid('The multipart body is malformed.'),
  invalid_url: invalid('The URL is not accepted.'),
  invalid_callback_url: invalid('The callback_url must be a public https URL.'),
  ambiguous_credentials: invalid('Two different credentials were sent.'),
  content_policy_violation: invalid("The request was refused by the provider's content policy."),
  invalid_api_key: { type: 'authentication_error', message: 'The API key is not valid.', retry: false },
  invalid_job_token: { type: 'authentication_error', message: 'The job token is not valid.', retry: false },
  invalid_admin_token: {
    type: 'authentication_error',
    message: 'The admin token or the session is not valid.',
    retry: false,
  },
  sign_in_failed: { type: 'authentication_error', message: 'The sign-in was not completed.', retry: false },
  invalid_metrics_token: { type: 'authentication_error', message: 'The metrics token is not valid.', retry: false },
  insufficient_credits: { type: 'billing_error', message: 'The project does not have enough credits.', retry: false },
  key_budget_exceeded: { type: 'billing_error', message: "The key's credit budget is used up.", retry: false },
  max_credits_exceeded: {
    type: 'billing_error',
    message: 'The request costs more than its max_credits.',
    retry: false,
  },
  model_not_allowed: { type: 'permission_error', message: 'This key may not use this model.', retry: false },
  scope_not_allowed: {
    type: 'permission_error',
    message: 'This key lacks the scope that the request needs.',
    retry: false,
  },
  ip_not_allowed: { type: 'permission_error', message: 'This key may not be used from this address.', retry: false },
  origin_not_allowed: {
    type: 'permission_error',
    message: 'Pages of this origin may not use this address.',
    retry: false,
  },
  role_not_allowed: {
    type: 'permission_error',
    message: 'The role of this admin token or operator is not sufficient.',
    retry: false,
  },
  unknown_operator: { type: 'permission_error', message: 'No owner has entered this person.', retry: false },
  cross_site_request: {
    type: 'permission_error',
    message: 'A page of another site may not use the session of the console.',
    retry: false,
  },
  model_not_found: { type: 'not_found_error', message: 'There is no such model.', retry: false },
  task_not_found: { type: 'not_found_error', message: 'There is no such task.', retry: false },
  file_not_found: { type: 'not_found_error', message: 'There is no such file.', retry: false },
  not_found: { type: 'not_found_error', message: 'There is no such route.', retry: false },
  method_not_allowed: invalid('This method is not allowed here.'),
  request_timeout: { type: 'invalid_request_error', message: 'The request took too long to arrive.' },
  idempotency_in_progress: {
    type: 'idempotency_error',
    message: 'A request with this Idempotency-Key is still running.',
  },
  idempotency_result_gone: {
    type: 'idempotency_error',
    message: 'The stored answer for this Idempotency-Key can no longer be read.',
    retry: false,
  },
  version_conflict: invalid('What the change is based on was changed meanwhile.'),
  action_refused: invalid('The action was refused, and nothing was changed.'),
  task_not_cancelable: invalid('The task can no longer be canceled.'),
  task_canceled: invalid('The task was canceled.'),
  task_not_ended: invalid('The task has not ended yet. Cancel it, or wait for its end.'),
  task_without_callback: invalid(
    'This task has no callback_url, so there is no callback to send again. Poll the task instead.',
  ),
  task_content_erased: invalid('The content of this task has been erased.'),
  payload_too_large: invalid('The body is too large.'),
  unsupported_media_type: invalid('The Content-Type is not supported here.'),
  idempotency_key_reused: {
    type: 'idempotency_error',
    message: 'This Idempotency-Key was used with another request.',
    retry: false,
  },
  rate_limit_exceeded: { type: 'rate_limit_error', message: 'Too many requests.' },
  concurrency_limit_exceeded: { type: 'rate_limit_error', message: 'Too many tasks or chats are in flight.' },
  storage_quota_exceeded: {
    type: 'rate_limit_error',
    message: 'The files of the project take all the space that it may use.',
    retry: false,
  },
  internal_error: { type: 'server_error', message: 'Something went wrong on our side.' },
  upstream_error: { type: 'server_error', message: 'The upstream provider failed.' },
  no_channel_available: { type: 'server_error', message: 'No upstream channel could take this request.' },
  service_unavailable: { type: 'server_error', message: 'The service is not available right now.' },
  overloaded: { type: 'server_error', message: 'The service is overloaded.' },
  upstream_timeout: { type: 'server_error', message: 'The upstream provider did not answer in time.' },
} as const satisfies Record<string, ErrorDescription>;

export type ErrorCode = keyof typeof errorTable;

/** What became of a create that was answered with an error. */
export type Accepted = 'yes' | 'no' | 'unknown';

export interface ErrorDetail {
  /** The message to the client: names the field and what is accepted, quotes at most 100 characters of input. */
  message?: string | undefined;
  /** The request field at fault. */
  param?: string | undefined;
  /** Sent as `Retry-After`. Whole seconds, at least 1. */
  retryAfterSeconds?: number | undefined;
  /** `param` and `message` are in the words of the client's dialect already. */
  isInClientWords?: boolean | undefined;
  /** Overrides the retry advice of the table. */
  shouldRetry?: boolean | undefined;
  /** The task behind this refusal, if there is one that the client can poll. */
  taskId?: string | undefined;
  /** Whether the request may take effect: `yes`, `no`, or `unknown`, and its Idempotency-Key or `taskId` finds out. Sent as `x-tollgate-accepted`. */
  accepted?: Accepted | undefined;
  /** Each error of a larger input, such as a catalog. */
  problems?: readonly object[] | undefined;
  /** Logged, never sent to the client. */
  cause?: unknown;
}

/** A refusal whose message is safe for the client. Any other error is a bug or an outage and is answered as such. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly isInClientWords: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly shouldRetry: boolean | undefined;
  readonly taskId: string | undefined;
  readonly accepted: Accepted | undefined;
  readonly problems: readonly object[] | undefined;

  constructor(code: ErrorCode, detail: ErrorDetail = {}) {
    super(detail.message ?? errorTable[code].message, { cause: detail.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.param = detail.param;
    this.isInClientWords = detail.isInClientWords === true;
    this.retryAfterSeconds = detail.retryAfterSeconds;
    this.taskId = detail.taskId;
    this.accepted = detail.accepted;
    this.problems = detail.problems;
    const row: ErrorDescription = errorTable[code];
    this.shouldRetry = detail.shouldRetry ?? row.retry;
  }
}

/**
 * An internal failure of a create. `no`: it was not accepted and never runs. `yes`: `taskId` was accepted. `unknown`: it may have been
 * accepted; its Idempotency-Key finds the task, or without one `taskId` names it.
 */
export class CreateFailed extends Error {
  override readonly name = 'CreateFailed';
  readonly accepted: Accepted;
  readonly taskId: string | undefined;

  constructor(accepted: Accepted, { cause, taskId }: { cause: unknown; taskId?: string }) {
    super(`whether a task was accepted: ${accepted}`, { cause });
    this.accepted = accepted;
    this.taskId = taskId;
  }
}

/** Shortens client input to at most 100 characters, so that an error may quote it (rules "Errors"). */
export const quoted = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
};
