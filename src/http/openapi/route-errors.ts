import type { ErrorCode } from '../../domain/errors.ts';
import { isRequired } from '../request/query.ts';
import type { RouteFacts } from '../route-facts.ts';

/** The refusals that every route of this kind can answer, whatever its handler does. */
export const errorsOfRoute = ({ auth, body, query = {} }: Pick<RouteFacts, 'auth' | 'body' | 'query'>): ErrorCode[] => [
  ...everywhere,
  ...byAuth[auth],
  ...byBody[body],
  ...(Object.values(query).some(isRequired) ? (['missing_parameter'] as const) : []),
];

/** `invalid_value` and `unsupported_parameter` are also about headers and the query. */
const everywhere: readonly ErrorCode[] = [
  'invalid_value',
  'unsupported_parameter',
  'internal_error',
  'service_unavailable',
  'overloaded',
];

const byAuth = {
  api_key: ['ambiguous_credentials', 'invalid_api_key', 'scope_not_allowed', 'ip_not_allowed', 'rate_limit_exceeded'],
  admin: [
    'ambiguous_credentials',
    'invalid_admin_token',
    'role_not_allowed',
    'cross_site_request',
    'rate_limit_exceeded',
  ],
  job_token: ['ambiguous_credentials', 'invalid_job_token', 'rate_limit_exceeded'],
  metrics_token: ['ambiguous_credentials', 'invalid_metrics_token', 'rate_limit_exceeded'],
  sign_in: ['rate_limit_exceeded'],
  signed: [],
  none: [],
} satisfies Record<RouteFacts['auth'], ErrorCode[]>;

const received: ErrorCode[] = ['unsupported_media_type', 'payload_too_large', 'request_timeout'];

const byBody = {
  none: [],
  json: [...received, 'invalid_json', 'missing_parameter'],
  json_if_any: [...received, 'invalid_json', 'missing_parameter'],
  json_with_parts: [...received, 'invalid_json', 'missing_parameter'],
  json_or_form: [...received, 'invalid_json', 'invalid_multipart', 'missing_parameter'],
  picture: [...received, 'invalid_multipart'],
} satisfies Record<RouteFacts['body'], ErrorCode[]>;
