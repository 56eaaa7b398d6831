import type { ErrorCode } from '../../domain/errors.ts';

/** What a person needs to know of a refusal beyond its message. The pages below `/docs/errors` and docs/API.md show it. */
export interface ErrorHelp {
  /** When the gateway answers with it. Without a full stop, because it is also a cell of a table. */
  when: string;
  /** What the client can do, in sentences. */
  remedy: string;
}

/** A new row of the error table does not compile until it has its help here. */
export const errorHelp = {
  invalid_json: {
    when: 'The body is not a JSON object',
    remedy:
      'Send one JSON object in UTF-8, at most 32 levels deep (64 outside of `/api`) and with at most 10,000 objects in its lists, without NUL characters and without the key `__proto__`.',
  },
  invalid_value: {
    when: 'A field or header has a value that is not accepted',
    remedy:
      '`param` names the field, and the message says what it accepts. Change the value and send the request again.',
  },
  missing_parameter: {
    when: 'A required field is missing',
    remedy: 'Add the field that `param` names.',
  },
  unsupported_parameter: {
    when: 'The model or the route does not take this field or query parameter',
    remedy:
      'Leave out the field that `param` names, or choose a model that takes it. `GET /api/v1/models` lists the parameters of each model. Nothing is ignored silently, so that you never pay for something else than you asked for.',
  },
  previous_response_not_found: {
    when: 'The request has a `previous_response_id`, and responses are not stored here',
    remedy: 'Send the earlier items in `input` instead.',
  },
  model_type_mismatch: {
    when: 'The model is of another type than the route',
    remedy: 'Use the route of its type: chats, images or videos. `GET /api/v1/models` shows the `type` of each model.',
  },
  context_length_exceeded: {
    when: "The messages are longer than the model's context",
    remedy: 'Send fewer or shorter messages, ask for fewer `max_tokens`, or choose a model with a larger context.',
  },
  invalid_image: {
    when: 'The image cannot be decoded, or decoding it would take too much memory',
    remedy: 'Send a JPEG, PNG or WebP picture of at most 10 MB and 40 million pixels.',
  },
  invalid_multipart: {
    when: 'The multipart body is malformed',
    remedy:
      'Send one file in the field `file` of a `multipart/form-data` body. Let your HTTP library write the boundary.',
  },
  invalid_url: {
    when: 'An input URL is not a public https URL',
    remedy: 'Use an https URL that anybody can reach, the `file_…` id of an upload, or a base64 data URI.',
  },
  invalid_callback_url: {
    when: 'The `callback_url` is not a public https URL',
    remedy: 'Use an https URL with a public host name. While you develop, poll the task, or use a tunnel.',
  },
  ambiguous_credentials: {
    when: 'The request carries two different keys',
    remedy: 'Send one key, in one header.',
  },
  content_policy_violation: {
    when: "The provider's content policy refused the request",
    remedy: 'Change the prompt or the pictures. The same request would be refused again. It costs nothing.',
  },
  invalid_api_key: {
    when: 'The key is missing, unknown, revoked or expired, or its project is disabled',
    remedy:
      'Send a valid key as `Authorization: Bearer sk-…`. Keys in the query string are refused. Ask the operator if the key should work.',
  },
  invalid_job_token: {
    when: 'The token of an internal route is not valid',
    remedy: 'Send a token of `INTERNAL_JOB_TOKENS` as `Authorization: Bearer …`. API keys do not work there.',
  },
  invalid_admin_token: {
    when: 'The admin token is missing, unknown, revoked or expired, or the session of the console has ended',
    remedy:
      'Send a token of `tollgate admin-tokens create` as `Authorization: Bearer adm_…`, or sign in to the console again. API keys do not work there.',
  },
  sign_in_failed: {
    when: 'The console: the identity provider did not confirm the sign-in, or the sign-in took too long',
    remedy:
      'Begin again from the sign-in page of the console, or sign in with an admin token. The message has the reason.',
  },
  invalid_metrics_token: {
    when: 'The token of `/metrics` is not valid',
    remedy: 'Send `METRICS_TOKEN` as `Authorization: Bearer …`. API keys do not work there.',
  },
  insufficient_credits: {
    when: 'The project does not have enough credits',
    remedy:
      'Ask the operator for credits, wait until running requests give back what they hold, or send a cheaper request. The message says what the request needs and what is available.',
  },
  key_budget_exceeded: {
    when: "The key's credit budget is used up",
    remedy: 'Ask the operator for a larger budget, or use another key of the project.',
  },
  max_credits_exceeded: {
    when: 'The request costs more than its `max_credits`',
    remedy:
      'Raise `max_credits`, or choose a cheaper model or cheaper parameters. A create with `dry_run` tells the price without buying.',
  },
  model_not_allowed: {
    when: 'The key may not use this model',
    remedy: '`GET /api/v1/models` lists the models of the key. Ask the operator to allow the model.',
  },
  scope_not_allowed: {
    when: 'The key has none of the scopes that open the route',
    remedy: 'Use a key with a scope that the message names, or ask the operator to give this key the scope.',
  },
  ip_not_allowed: {
    when: "The key may not be used from the client's address",
    remedy:
      'Send the request from an allowed address. The message says which address the gateway saw; behind a proxy, ask the operator whether the gateway trusts it.',
  },
  origin_not_allowed: {
    when: 'A web page of an origin that is not allowed called `/mcp`',
    remedy:
      'Ask the operator to add the origin to `CORS_ORIGINS`. Programs outside of a browser send no `Origin` and need nothing.',
  },
  role_not_allowed: {
    when: 'The admin API: the role of the token or of the operator does not allow the action',
    remedy: 'The message names the role that the action needs. Ask an owner for it.',
  },
  unknown_operator: {
    when: 'The console: no owner has entered the person who signed in at the identity provider',
    remedy:
      'Ask an owner to run the command of the message, which names the issuer and the subject. A person has no role by default.',
  },
  cross_site_request: {
    when: 'The admin API: a page of another site sent the session of the console',
    remedy: 'Send an admin token instead of the cookie, or open the console itself.',
  },
  model_not_found: {
    when: 'No such model exists',
    remedy: '`GET /api/v1/models` lists the models. Check the spelling: the message suggests the nearest id.',
  },
  task_not_found: {
    when: "No such task exists in the key's project",
    remedy: 'Check the id and the project of the key. Tasks of other projects are not found either.',
  },
  file_not_found: {
    when: 'No such file exists, or its signed URL is wrong or expired',
    remedy: 'Read the task again for fresh URLs. Results are kept for 7 days, uploads for 24 hours.',
  },
  not_found: {
    when: 'No route has this path',
    remedy: 'Compare the path with the [reference](/docs). Paths are case-sensitive and have no slash at the end.',
  },
  method_not_allowed: {
    when: 'The path does not take this method. `Allow` lists those that it takes',
    remedy: 'Use a method that the `Allow` header lists.',
  },
  request_timeout: {
    when: 'The request body took too long to arrive',
    remedy: 'Send it again over a better connection. A body must arrive at 1 kB a second at least.',
  },
  idempotency_in_progress: {
    when: 'The first request with this key still runs',
    remedy: 'Wait for `Retry-After` and send the same request again: it returns the answer of the first one.',
  },
  idempotency_result_gone: {
    when: 'The stored answer for this key can no longer be read',
    remedy: 'The first request was charged. Send a new key if you want to buy another answer.',
  },
  version_conflict: {
    when: 'The admin API: what is changed has another version than the one that the change names',
    remedy: 'Read it again and repeat the change on that, so that the change made meanwhile stays.',
  },
  action_refused: {
    when: 'The admin API: the action was refused, and nothing was changed',
    remedy: 'The message says why.',
  },
  task_not_cancelable: {
    when: 'The task has ended, or its job runs and cannot be stopped',
    remedy: 'Read the task. If it still runs, it will end by itself.',
  },
  task_canceled: {
    when: 'The task behind this request was canceled',
    remedy: 'Its credits were refunded. Send the request again with a new `Idempotency-Key`.',
  },
  task_not_ended: {
    when: 'The task still runs, so it cannot be deleted and its callback not sent again',
    remedy: 'Wait for its end, or cancel it first.',
  },
  task_without_callback: {
    when: 'The callback of a task without a `callback_url` was asked for again',
    remedy: 'Read the task. Send `callback_url` with the next create to be told of its end.',
  },
  task_content_erased: {
    when: 'The content of the task was deleted by retention',
    remedy: 'It cannot be restored. Create the task again.',
  },
  payload_too_large: {
    when: 'The body is too large',
    remedy:
      'JSON may have 4 MB under `/api` and 32 MB elsewhere, an upload 10 MB. Upload pictures instead of sending them inline.',
  },
  unsupported_media_type: {
    when: 'The route does not take this `Content-Type` or `Content-Encoding`',
    remedy:
      'Send `application/json`, under `/api` without compression and elsewhere at most as `gzip`, `deflate` or `zstd`; an upload as `multipart/form-data` or with its image type.',
  },
  idempotency_key_reused: {
    when: 'The key was used with another body',
    remedy: 'Use a new key for a new request, and the same body for a retry.',
  },
  rate_limit_exceeded: {
    when: "The key's rate limit is used up. `Retry-After` says when to try again",
    remedy: 'Wait for `Retry-After` seconds. The `RateLimit` header of every answer shows what is left.',
  },
  concurrency_limit_exceeded: {
    when: 'Too many tasks or chats of the key or project run',
    remedy: 'Wait until one of them has ended, then send the request again.',
  },
  storage_quota_exceeded: {
    when: 'The files of the project take its quota; uploads and media tasks are refused until files expire',
    remedy: 'Wait until older files expire, or ask the operator for a larger quota.',
  },
  internal_error: {
    when: 'The gateway failed',
    remedy:
      'Send the request again, with an `Idempotency-Key`. If it keeps failing, tell the operator the `x-request-id`.',
  },
  upstream_error: {
    when: 'The provider failed',
    remedy: 'Send the request again. It cost nothing.',
  },
  no_channel_available: {
    when: 'No channel can serve the model now',
    remedy: 'Wait for `Retry-After` and send the request again, or use another model. It cost nothing.',
  },
  service_unavailable: {
    when: 'The gateway cannot reach its database',
    remedy: 'Wait for `Retry-After` and send the request again, unless the answer says `x-should-retry: false`.',
  },
  overloaded: {
    when: 'The gateway has too much to do',
    remedy: 'Wait for `Retry-After` and send the request again.',
  },
  upstream_timeout: {
    when: 'The provider did not answer in time',
    remedy: 'Send the request again, unless the message names a task: then read that task.',
  },
} satisfies Record<ErrorCode, ErrorHelp>;
