/**
 * The catalogue of refusals: every "no" that a caller can hear, with its name on the wire, HTTP status, SMTP reply and sentence.
 * Names and statuses: reference, wire format §3. SMTP codes: RFC 5321 §4.2, RFC 3463.
 */

interface Entry {
  /** `name` in the error body; clients map it to their exception classes. */
  name: string
  status: number
  /** Reply code and enhanced code for the same refusal over SMTP. */
  smtp: string
  /** The sentence; `{placeholders}` are filled by the caller. */
  message: string
}

const entry = (name: string, status: number, smtp: string, message: string): Entry => ({
  name,
  status,
  smtp,
  message,
})

export const REFUSALS = {
  // ── who is calling
  missing_api_key: entry('missing_api_key', 401, '530 5.7.0', 'Missing API key in the authorization header.'),
  invalid_api_key: entry('invalid_api_key', 403, '535 5.7.8', 'API key is invalid.'),
  restricted_api_key: entry(
    'restricted_api_key',
    401,
    '535 5.7.8',
    'This API key is restricted to only send emails.',
  ),
  not_signed_in: entry(
    'missing_api_key',
    401,
    '530 5.7.0',
    'Sign in, or send an API key in the authorization header.',
  ),
  wrong_credentials: entry('validation_error', 403, '535 5.7.8', 'Wrong email address or password.'),
  already_set_up: entry(
    'validation_error',
    400,
    '554 5.7.1',
    'This server has an owner already. Sign in with that address.',
  ),
  foreign_origin: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'This request comes from another site and was refused.',
  ),

  // ── what is asked for
  unknown_endpoint: entry('not_found', 404, '502 5.5.1', 'The requested endpoint does not exist.'),
  not_found: entry('not_found', 404, '550 5.1.1', '{resource} not found'),
  method_not_allowed: entry(
    'method_not_allowed',
    405,
    '502 5.5.1',
    'Method is not allowed for the requested path.',
  ),
  invalid_id: entry('validation_error', 422, '501 5.5.4', 'The `{parameter}` must be a valid UUID.'),
  invalid_parameter: entry('validation_error', 422, '501 5.5.4', 'Invalid `{parameter}`: {expected}.'),

  // ── the body
  malformed_body: entry('validation_error', 400, '554 5.6.0', 'The request body is not valid JSON.'),
  malformed_request: entry('validation_error', 400, '500 5.5.2', 'The request is not valid HTTP.'),
  headers_too_large: entry(
    'validation_error',
    431,
    '500 5.5.2',
    'The request has too many or too long headers.',
  ),
  request_timeout: entry('validation_error', 408, '421 4.4.2', 'The request did not arrive in time.'),
  unsupported_body: entry(
    'validation_error',
    415,
    '554 5.6.1',
    'The request body must be JSON: send `Content-Type: application/json`.',
  ),
  body_too_large: entry('validation_error', 413, '552 5.3.4', 'The request is larger than {limit} bytes.'),
  message_too_large: entry(
    'validation_error',
    422,
    '552 5.3.4',
    'The message with its attachments is larger than {limit} bytes.',
  ),
  missing_field: entry('missing_required_field', 422, '554 5.6.0', 'Missing `{field}` field.'),
  missing_content: entry('missing_required_field', 422, '554 5.6.0', 'Missing `html` or `text` field.'),
  invalid_field: entry('validation_error', 422, '554 5.6.0', 'Invalid `{field}` field: {expected}.'),
  invalid_address: entry(
    'validation_error',
    422,
    '553 5.1.3',
    'Invalid `{field}` field. The email address needs to follow the `email@example.com` or `Name <email@example.com>` format.',
  ),
  too_many_recipients: entry(
    'validation_error',
    422,
    '452 4.5.3',
    'The `{field}` field takes at most {limit} recipients.',
  ),
  invalid_tag: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'Tags should only contain ASCII letters, numbers, underscores, or dashes.',
  ),
  invalid_attachment: entry(
    'invalid_attachment',
    422,
    '554 5.6.0',
    'Invalid attachment {index}: {expected}.',
  ),
  not_offered: entry(
    'validation_error',
    422,
    '554 5.3.3',
    'The `{field}` field is not supported by this server version.',
  ),

  // ── the sender
  domain_not_verified: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'The {domain} domain is not verified. Publish its DNS records and verify it before sending.',
  ),
  domain_unknown: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'The {domain} domain is not verified. Please add it to this server and verify it, or send from a domain of your team.',
  ),
  key_restricted_to_domain: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'This API key may not send from {domain}.',
  ),
  domain_taken: entry(
    'validation_error',
    400,
    '550 5.7.1',
    'The {domain} domain has been registered already.',
  ),

  // ── us
  too_many_attempts: entry(
    'rate_limit_exceeded',
    429,
    '421 4.7.0',
    'Too many attempts. Try again in {seconds} seconds.',
  ),
  shutting_down: entry(
    'application_error',
    503,
    '421 4.3.2',
    'The server is shutting down. Try again shortly; nothing was accepted.',
  ),
  unavailable: entry(
    'application_error',
    503,
    '451 4.3.0',
    'The server cannot take mail at the moment. Try again shortly.',
  ),
  overloaded: entry(
    'application_error',
    503,
    '451 4.3.2',
    'The server is busy with large messages. Try again in a few seconds; nothing was accepted.',
  ),
  internal: entry('internal_server_error', 500, '451 4.3.0', 'An unexpected error occurred.'),
} as const satisfies Record<string, Entry>

export type RefusalKey = keyof typeof REFUSALS

/** A refusal on its way to the caller. Thrown by the doors' steps, turned into the wire's shape in one place per door. */
export class Refusal extends Error {
  readonly key: RefusalKey
  readonly wireName: string
  readonly status: number
  readonly smtp: string

  constructor(key: RefusalKey, fill: Record<string, string | number> = {}) {
    const { name, status, smtp, message } = REFUSALS[key]
    super(message.replaceAll(/\{(\w+)\}/g, (_, word: string) => String(fill[word] ?? '')))
    this.name = 'Refusal'
    this.key = key
    this.wireName = name
    this.status = status
    this.smtp = smtp
  }
}

/** Makes a refusal to throw: `throw refuse('not_found', { resource: 'Email' })`. */
export function refuse(key: RefusalKey, fill: Record<string, string | number> = {}): Refusal {
  return new Refusal(key, fill)
}
