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
  wrong_password: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'Invalid `{field}` field: this is not the password of your account.',
  ),
  no_password: entry(
    'validation_error',
    409,
    '535 5.7.8',
    'Your account has no password yet. Ask for one with "Forgot your password?" on the sign-in page.',
  ),
  reset_link_over: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'This link was used, has expired or is not whole. Ask for a new one with "Forgot your password?" on the sign-in page.',
  ),
  no_team: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'You are a member of no team here any more. Ask for an invitation.',
  ),
  sign_in_over: entry(
    'validation_error',
    401,
    '535 5.7.8',
    'This sign-in took too long, or had too many wrong codes. Begin again with your password.',
  ),
  wrong_code: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'Wrong code, or one that was used before. Wait for the next one, and see that the clock of your phone is right.',
  ),
  second_factor_required: entry(
    'validation_error',
    403,
    '535 5.7.9',
    'The team asks for a second factor. Set one up in your account, or show it: until then nothing else is open.',
  ),
  proof_required: entry(
    'validation_error',
    403,
    '535 5.7.9',
    'Show that it is you: give your password or a second factor again.',
  ),
  factor_needed: entry(
    'validation_error',
    403,
    '535 5.7.9',
    'The password is not enough here: this session began without your second factor. Show a second factor.',
  ),
  no_second_factor: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'There is no second factor yet: set up an app or a passkey first.',
  ),
  totp_exists: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'An app for codes is set up already. Remove it first.',
  ),
  totp_not_started: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'There is no app that waits for its first code. Begin again.',
  ),
  passkey_refused: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'This passkey was not accepted. Try again, or use another way to sign in.',
  ),
  passkey_origin: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'Passkeys of this server work at {origin} only: open the dashboard there.',
  ),
  passkey_needs_name: entry(
    'validation_error',
    422,
    '554 5.5.1',
    'Passkeys are bound to a host name, and {host} is an address: open the dashboard by its name.',
  ),
  passkey_copied: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'The passkey “{name}” counts backwards, as a copy of it would. Sign in another way and remove it.',
  ),
  passkey_not_alone: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'The passkey “{name}” is older than the proof that this address is yours, so it opens nothing by itself. Sign in with your password; then remove it and add it anew.',
  ),
  passkey_taken: entry('validation_error', 409, '554 5.5.1', 'This passkey is set up already.'),
  too_many_passkeys: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'There are {limit} passkeys already, which is the most. Remove one first.',
  ),
  already_set_up: entry(
    'validation_error',
    400,
    '554 5.7.1',
    'This server has an owner already. Sign in with that address.',
  ),
  set_up_link_invalid: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'This set-up link is wrong, used already or too old. Restart the appliance: it prints a new one, good for 24 hours.',
  ),
  provider_unreachable: entry(
    'application_error',
    502,
    '451 4.4.1',
    '{provider} does not answer. Try again in a minute, or sign in another way.',
  ),
  provider_misconfigured: entry(
    'application_error',
    502,
    '554 5.3.5',
    '{provider} is not set up right for this server. Sign in another way, and tell its operator: {detail}.',
  ),
  provider_elsewhere: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Providers send people back to {origin}. Open the dashboard at that address and sign in there.',
  ),
  last_way_in: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'This is your last way in. Set a password, add a passkey or link another account first.',
  ),
  foreign_origin: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'This request comes from another site and was refused.',
  ),

  role_too_low: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'This needs the role {needed} or a higher one; you are {role} in this team. Ask an owner or admin of the team.',
  ),
  invitation_over: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'This invitation was used, withdrawn or has expired. Ask the team for a new one.',
  ),
  invitation_needs_sign_in: entry(
    'validation_error',
    409,
    '535 5.7.8',
    'There is an account with the address of this invitation. Sign in with it, then accept.',
  ),
  invitation_for_other: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'This invitation is for another address than the one you are signed in with. Sign in with that address.',
  ),
  member_already: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'This address belongs to a member of the team already.',
  ),
  too_many_invitations: entry(
    'validation_error',
    422,
    '452 4.5.3',
    'A team has at most {limit} open invitations. Withdraw some, or wait until they are accepted.',
  ),
  last_owner: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'This is the only owner of the team. Make somebody else an owner first.',
  ),
  owners_only: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'Only an owner may make, change or remove owners. Ask an owner of the team.',
  ),
  own_second_factor_first: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Set up a second factor for your own account first: without one this rule would lock you out.',
  ),

  // ── what is asked for
  unknown_endpoint: entry('not_found', 404, '502 5.5.1', 'The requested endpoint does not exist.'),
  unsupported_endpoint: entry(
    'not_found',
    404,
    '502 5.5.1',
    'The requested endpoint does not exist: this server version does not support {feature}.',
  ),
  content_withheld: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'This email is from the server to one person: its content is shown to nobody else.',
  ),
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
  body_not_utf8: entry(
    'validation_error',
    400,
    '554 5.6.0',
    'The request body is not UTF-8: JSON is always sent in it (RFC 8259 §8.1).',
  ),
  malformed_request: entry('validation_error', 400, '500 5.5.2', 'The request is not valid HTTP.'),
  one_host: entry(
    'validation_error',
    400,
    '500 5.5.2',
    'A request needs exactly one `Host` field (RFC 9112 §3.2).',
  ),
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
  compressed_body: entry(
    'validation_error',
    415,
    '554 5.6.1',
    'The request body is compressed: send it as it is, without `Content-Encoding`.',
  ),
  body_too_slow: entry(
    'validation_error',
    408,
    '421 4.4.2',
    'The data came too slowly: less than 1 KB/s for 30 seconds. Nothing was accepted.',
  ),
  body_too_complex: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The request body is too complex: expected {expected}.',
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
  not_resendable: entry(
    'validation_error',
    422,
    '554 5.5.1',
    'This email cannot be sent again: {reason}. Send it anew from where it came from.',
  ),
  body_not_array: entry('validation_error', 422, '554 5.6.0', 'The `request.body` field must be an `array`.'),
  link_expired: entry('not_found', 410, '550 5.1.1', 'This link has expired. Ask the API for a new one.'),
  share_too_long: entry('validation_error', 422, '554 5.6.0', '`expires_in` must not exceed 48 hours.'),
  too_many_webhooks: entry(
    'validation_error',
    422,
    '554 5.5.1',
    'There are {limit} webhooks already, which is the most. Remove one first.',
  ),
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

  domain_held: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'Another account of this server has verified the {domain} domain. It has to remove the domain there before it can be verified here.',
  ),

  // ── the addresses that mail leaves from
  not_operator: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'Only the team that runs this server may see and change its addresses.',
  ),
  source_taken: entry('validation_error', 409, '554 5.5.1', 'The source {ip} is there already.'),
  source_configured: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'The source {ip} comes from the configuration: take it out of `delivery.source_ips`, or suspend it.',
  ),

  // ── the queue
  queue_not_operator: entry(
    'validation_error',
    403,
    '550 5.7.1',
    "Only the team that runs this server may act on other teams' mail, or move mail to another pool.",
  ),
  queue_grew: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Nothing was done: this would touch {count} deliveries now, and {expected} were expected. Preview it again.',
  ),
  not_undoable: entry('validation_error', 409, '554 5.5.1', 'This cannot be undone: {reason}.'),
  hold_rules_full: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'There are {limit} rules that hold new mail already. Release one first.',
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
  message_repeated_field: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The message has {count} {field} fields; it may have at most one (RFC 5322 3.6, RFC 2045 3).',
  ),
  message_date: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The Date field cannot be read; it needs the form Fri, 20 Nov 2026 10:00:00 +0000 (RFC 5322 3.3).',
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
  inbound_unknown: entry(
    'not_found',
    404,
    '550 5.1.1',
    'No email is known that was sent with this return path.',
  ),
  inbound_sender: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'A return path takes delivery reports only: they have the null sender, MAIL FROM:<>.',
  ),
  inbound_one: entry(
    'validation_error',
    422,
    '452 4.5.3',
    'Without sign-in a message takes one recipient; send it to the others in another transaction.',
  ),
  inbound_full: entry(
    'validation_error',
    422,
    '552 5.2.2',
    'As much as is kept for this return path has come back already.',
  ),
  inbound_rate: entry(
    'rate_limit_exceeded',
    429,
    '450 4.7.1',
    'Too many messages without sign-in. Try again in {seconds} seconds.',
  ),
  inbound_lookups: entry(
    'rate_limit_exceeded',
    429,
    '421 4.7.0',
    'Too many recipients on one connection. Connect again to go on.',
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
  smtp_key_revoked: entry(
    'invalid_api_key',
    403,
    '421 4.7.0',
    'The API key of this session has been deleted. Sign in again with another one.',
  ),
  smtp_key_gone: entry(
    'invalid_api_key',
    403,
    '550 5.7.1',
    'The API key that this listener is bound to does not exist: correct api_key_id in [[smtp.trusted]].',
  ),

  // ── us
  connections_total: entry(
    'application_error',
    503,
    '421 4.3.2',
    'The server has as many connections as it can serve. Try again in a minute.',
  ),
  connections_strangers: entry(
    'application_error',
    503,
    '421 4.3.2',
    'The server has too many connections from clients that have not signed in. Try again in a minute.',
  ),
  connections_address: entry(
    'rate_limit_exceeded',
    429,
    '421 4.7.0',
    'Too many connections from your address. Close some, or try again in a minute.',
  ),
  connections_team: entry(
    'rate_limit_exceeded',
    429,
    '421 4.7.0',
    'Your team has too many open connections. Close some, or try again in a minute.',
  ),
  live_streams: entry(
    'rate_limit_exceeded',
    429,
    '421 4.7.0',
    'Too many live streams are open. Close some, or ask for events less often.',
  ),
  share_used: entry(
    'rate_limit_exceeded',
    429,
    '452 4.3.1',
    'You are sending too many large messages at once. Finish some first; nothing was accepted.',
  ),
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
  disk_full: entry(
    'application_error',
    507,
    '452 4.3.1',
    'The server has too little free disk space to take mail. Try again in some minutes; nothing was accepted.',
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
