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

  schedule_past: entry('validation_error', 422, '554 5.6.0', 'The `{field}` field must be a future date'),
  not_scheduled: entry(
    'validation_error',
    422,
    '554 5.5.1',
    'This email cannot be {change}: only a scheduled email can, and this one is {state}.',
  ),
  body_not_array: entry('validation_error', 422, '554 5.6.0', 'The `request.body` field must be an `array`.'),
  link_expired: entry('not_found', 410, '550 5.1.1', 'This link has expired. Ask the API for a new one.'),
  share_too_long: entry('validation_error', 422, '554 5.6.0', '`expires_in` must not exceed 48 hours.'),
  not_in_batch: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The `{field}` field is not supported in a batch: send this email on its own.',
  ),

  // ── the same again
  invalid_idempotency_key: entry(
    'invalid_idempotency_key',
    400,
    '501 5.5.4',
    'The key must be between 1-256 chars.',
  ),
  invalid_idempotent_request: entry(
    'invalid_idempotent_request',
    409,
    '554 5.5.1',
    "This idempotency key has been used with this HTTP method and endpoint within the last 24 hours, but the request body was modified and doesn't match the original request.",
  ),
  concurrent_idempotent_requests: entry(
    'concurrent_idempotent_requests',
    409,
    '450 4.5.1',
    'Same idempotency key used while original request is still in progress.',
  ),

  // ── how much
  rate_limit_exceeded: entry(
    'rate_limit_exceeded',
    429,
    '450 4.7.1',
    'Too many requests. You can only make {limit} requests per second. See rate limit response headers for more information. Or contact support to increase rate limit.',
  ),
  daily_quota_exceeded: entry(
    'daily_quota_exceeded',
    429,
    '452 4.7.1',
    'You have reached your daily email sending quota.',
  ),
  monthly_quota_exceeded: entry(
    'monthly_quota_exceeded',
    429,
    '452 4.7.1',
    'You have reached your monthly email sending quota.',
  ),

  invalid_access: entry(
    'invalid_access',
    422,
    '554 5.6.0',
    'Access must be "full_access" | "sending_access".',
  ),
  invalid_region: entry(
    'invalid_region',
    422,
    '554 5.6.0',
    'Region must be "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1".',
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
  domain_sending_disabled: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'Sending from the {domain} domain is disabled. Enable its `sending` capability first.',
  ),
  domain_taken: entry(
    'validation_error',
    400,
    '550 5.7.1',
    'The {domain} domain has been registered already.',
  ),

  // ── a message that arrives as bytes
  message_malformed: entry('validation_error', 422, '554 5.6.0', 'The message cannot be taken: {expected}.'),
  message_bare_newline: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The message has a bare {what}. Lines must end in CR LF and nothing else (RFC 5321 2.3.8).',
  ),
  message_long_line: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The message has a line longer than {limit} octets (RFC 5321 4.5.3.1.6). Encode its parts as quoted-printable or base64.',
  ),
  message_from: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The message needs exactly one {field} field with one plain address; it has {count} such fields or one that cannot be read as one address.',
  ),
  message_loop: entry(
    'validation_error',
    422,
    '554 5.4.6',
    'The message has passed through too many servers: it goes in circles.',
  ),

  // ── the conversation
  smtp_line: entry(
    'validation_error',
    400,
    '500 5.5.2',
    'Commands are lines of at most {limit} octets that end in CR LF, without other controls.',
  ),
  smtp_unknown_command: entry('validation_error', 400, '500 5.5.1', 'There is no such command.'),
  smtp_not_implemented: entry('validation_error', 400, '502 5.5.1', 'This command is not offered here.'),
  smtp_not_smtp: entry('validation_error', 400, '421 4.7.0', 'This is a mail server and speaks only SMTP.'),
  smtp_syntax: entry('validation_error', 400, '501 5.5.4', 'Write it as {expected}.'),
  smtp_sequence: entry('validation_error', 400, '503 5.5.1', 'Not now: {expected}.'),
  smtp_parameter: entry(
    'validation_error',
    400,
    '555 5.5.4',
    'The parameter {parameter} is not offered with {command}.',
  ),
  smtp_path: entry('validation_error', 422, '553 5.1.3', 'This address cannot be used: {expected}.'),
  smtp_needs_utf8: entry(
    'validation_error',
    422,
    '553 5.6.7',
    'An address with other than ASCII characters needs SMTPUTF8 on MAIL (RFC 6531).',
  ),
  smtp_needs_tls: entry('missing_api_key', 401, '530 5.7.0', 'Encrypt the connection first: STARTTLS.'),
  smtp_require_tls: entry(
    'validation_error',
    400,
    '530 5.7.0',
    'REQUIRETLS is taken over an encrypted connection only: STARTTLS first (RFC 8689).',
  ),
  smtp_auth_needs_tls: entry(
    'missing_api_key',
    401,
    '538 5.7.11',
    'Keys are taken over an encrypted connection only: STARTTLS first. Treat a key that was just sent in the clear as stolen.',
  ),
  smtp_needs_auth: entry(
    'missing_api_key',
    401,
    '530 5.7.0',
    'Sign in first: AUTH with the user name posthaste and an API key as the password.',
  ),
  smtp_relay: entry(
    'missing_api_key',
    403,
    '554 5.7.1',
    'Relay access denied: sign in with AUTH to send mail through this server.',
  ),
  smtp_credentials: entry(
    'invalid_api_key',
    403,
    '535 5.7.8',
    'The user name must be posthaste and the password a valid API key.',
  ),
  smtp_mechanism: entry('validation_error', 400, '504 5.5.4', 'AUTH takes PLAIN or LOGIN.'),
  smtp_auth_cancelled: entry('validation_error', 400, '501 5.7.0', 'Sign-in cancelled.'),
  smtp_recipients: entry(
    'validation_error',
    422,
    '452 4.5.3',
    'A message takes at most {limit} recipients; send it to the others in another transaction.',
  ),
  smtp_no_recipients: entry('validation_error', 422, '554 5.5.1', 'No valid recipients.'),
  smtp_many_connections: entry(
    'rate_limit_exceeded',
    429,
    '421 4.7.0',
    'Too many connections from your address. Close some, or try again shortly.',
  ),
  smtp_many_errors: entry('rate_limit_exceeded', 429, '421 4.7.0', 'Too many errors on this connection.'),
  smtp_idle: entry(
    'validation_error',
    408,
    '421 4.4.2',
    'Nothing came for {limit} seconds: closing the connection.',
  ),
  smtp_session_over: entry(
    'validation_error',
    408,
    '421 4.4.2',
    'This session has lasted long enough: connect again to go on.',
  ),
  smtp_network: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'This listener serves named networks only, and yours is not among them.',
  ),
  smtp_key_gone: entry(
    'invalid_api_key',
    403,
    '550 5.7.1',
    'The API key that this listener is bound to does not exist: correct api_key_id in [[smtp.trusted]].',
  ),
  smtp_memory: entry(
    'application_error',
    503,
    '452 4.3.1',
    'The server is taking as much mail as its memory allows. Try again in a minute; nothing was accepted.',
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
  /** Seconds after which it is worth trying again, where that is known: what the sentence's `{seconds}` was filled with. */
  readonly retryAfter: number | undefined

  constructor(key: RefusalKey, fill: Record<string, string | number> = {}) {
    const { name, status, smtp, message } = REFUSALS[key]
    super(message.replaceAll(/\{(\w+)\}/g, (_, word: string) => String(fill[word] ?? '')))
    this.name = 'Refusal'
    this.key = key
    this.wireName = name
    this.status = status
    this.smtp = smtp
    this.retryAfter = typeof fill.seconds === 'number' ? fill.seconds : undefined
  }
}

/** The same refusal, said of one element of a list of requests; indexes count from 0. */
export function refuseAt(index: number, { key, message }: Refusal): Refusal {
  return Object.assign(new Refusal(key), { message: `Email at index ${index}: ${message}` })
}

/** Makes a refusal to throw: `throw refuse('not_found', { resource: 'Email' })`. `seconds` is also its `retryAfter`. */
export function refuse(key: RefusalKey, fill: Record<string, string | number> = {}): Refusal {
  return new Refusal(key, fill)
}
