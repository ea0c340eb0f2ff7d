/**
 * The catalog of refusals, with their name on the wire, HTTP status, SMTP reply and sentence. Names and statuses:
 * reference, wire format §3. SMTP codes: RFC 5321 §4.2, RFC 3463.
 */

interface Entry {
  /** `name` in the error body; clients map it to their exception classes. */
  name: string
  status: number
  /** Reply code and enhanced status code of the refusal over SMTP. */
  smtp: string
  /** The sentence; the caller fills the `{placeholders}`. */
  message: string
}

const entry = (name: string, status: number, smtp: string, message: string): Entry => ({
  name,
  status,
  smtp,
  message,
})

export const REFUSALS = {
  // ── authentication
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
  wrong_password: entry('validation_error', 403, '535 5.7.8', 'Invalid `{field}` field: wrong password.'),
  no_password: entry(
    'validation_error',
    409,
    '535 5.7.8',
    'Your account has no password yet. Set one with "Forgot your password?" on the sign-in page.',
  ),
  reset_link_over: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'This link is incomplete, expired or already used. Request a new one with "Forgot your password?" on the sign-in page.',
  ),
  no_team: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'You are no longer a member of any team on this server. Ask a team owner or admin for an invitation.',
  ),
  sign_in_over: entry(
    'validation_error',
    401,
    '535 5.7.8',
    'Sign-in expired, or you entered too many wrong codes. Start again with your password.',
  ),
  wrong_code: entry(
    'validation_error',
    403,
    '535 5.7.8',
    "Incorrect or already used code. Wait for a new one, and check your phone's clock.",
  ),
  second_factor_required: entry(
    'validation_error',
    403,
    '535 5.7.9',
    'This team requires two-step sign-in. Set up or complete your second step to continue.',
  ),
  proof_required: entry(
    'validation_error',
    403,
    '535 5.7.9',
    'Confirm your identity: enter your password or complete the second step again.',
  ),
  factor_needed: entry(
    'validation_error',
    403,
    '535 5.7.9',
    'This session started without your second step, so a password is not enough. Complete the second step to continue.',
  ),
  no_second_factor: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Your account has no second step. Set up an authenticator app or a passkey first.',
  ),
  totp_exists: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'An authenticator app is already set up. Remove it first.',
  ),
  totp_not_started: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'No authenticator app setup is in progress. Start the setup again.',
  ),
  passkey_refused: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'This passkey was not accepted. Try again, or sign in another way.',
  ),
  passkey_origin: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'Passkeys for this server work only at {origin}. Open the dashboard there.',
  ),
  passkey_needs_name: entry(
    'validation_error',
    422,
    '554 5.5.1',
    'Passkeys are bound to a hostname, and {host} is an IP address. Open the dashboard using its hostname.',
  ),
  passkey_copied: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'The signature counter of the passkey “{name}” went backward, so the passkey may have been copied. Sign in another way and remove it.',
  ),
  passkey_not_alone: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'The passkey “{name}” was added before this email address was confirmed, so it cannot sign you in by itself. Sign in with your password, then remove the passkey and add it again.',
  ),
  passkey_taken: entry('validation_error', 409, '554 5.5.1', 'This passkey is already set up.'),
  too_many_passkeys: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'An account can have at most {limit} passkeys. Remove one first.',
  ),
  already_set_up: entry(
    'validation_error',
    400,
    '554 5.7.1',
    "This server already has an owner. Sign in with the owner's address.",
  ),
  set_up_link_invalid: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'This setup link is invalid, expired or already used. Restart Posthaste to get a new link, valid for 24 hours.',
  ),
  provider_unreachable: entry(
    'application_error',
    502,
    '451 4.4.1',
    '{provider} is not responding. Try again in a minute, or sign in another way.',
  ),
  provider_misconfigured: entry(
    'application_error',
    502,
    '554 5.3.5',
    '{provider} is misconfigured for this server. Sign in another way, and report this to the operator: {detail}.',
  ),
  provider_elsewhere: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Identity providers redirect to {origin}. Open the dashboard at that address and sign in there.',
  ),
  last_way_in: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'This is your only way to sign in. Set a password, add a passkey or link another account first.',
  ),
  foreign_origin: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'This request came from another site and was refused.',
  ),

  role_too_low: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'This action requires the {needed} role or higher; your role in this team is {role}. Ask an owner or admin of the team.',
  ),
  invitation_over: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'This invitation has expired, was withdrawn, or has already been used. Ask the team for a new one.',
  ),
  invitation_needs_sign_in: entry(
    'validation_error',
    409,
    '535 5.7.8',
    'An account with the invited address already exists. Sign in with it, then accept the invitation.',
  ),
  invitation_for_other: entry(
    'validation_error',
    403,
    '535 5.7.8',
    'This invitation is for a different email address. Sign in with that address to accept it.',
  ),
  member_already: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'This address already belongs to a member of the team.',
  ),
  too_many_invitations: entry(
    'validation_error',
    422,
    '452 4.5.3',
    'A team can have at most {limit} pending invitations. Withdraw some, or wait until they are accepted.',
  ),
  last_owner: entry(
    'validation_error',
    409,
    '554 5.5.1',
    "This is the team's only owner. Make someone else an owner first.",
  ),
  owners_only: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'Only owners can add, change or remove owners. Ask an owner of the team.',
  ),
  own_second_factor_first: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Set up a second step for your own account first. Otherwise, this rule would lock you out.',
  ),

  // ── routes and objects
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
    'The server sent this email to one person, so its content is hidden from everyone else.',
  ),
  broadcast_started: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'Only drafts and scheduled broadcasts can be changed or sent. Of one that has been sent, only the name can be changed, and while it is being sent, its rate.',
  ),
  broadcast_changed: entry(
    'resource_locked',
    409,
    '451 4.3.2',
    'Somebody else has changed this broadcast since you opened it. Reload it to see the changes.',
  ),
  broadcast_kept: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'Only drafts and scheduled broadcasts can be deleted.',
  ),
  broadcast_not_cancelable: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'Only queued or scheduled broadcasts can be canceled',
  ),
  broadcast_not_running: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'Only scheduled broadcasts and those that are being sent can be paused.',
  ),
  broadcast_not_paused: entry('validation_error', 403, '554 5.7.1', 'This broadcast is not paused.'),
  broadcast_provider_not_paused: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'This broadcast is not paused for {provider}.',
  ),
  ab_test_over: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'This broadcast has no A/B test that waits for a winner.',
  ),
  broadcast_without_unsubscribe: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'A broadcast needs an unsubscribe link. Add `<a href="{tag}">Unsubscribe</a>` to its HTML, or {tag} to its plain text.',
  ),
  provider_rules: entry(
    'validation_error',
    422,
    '550 5.7.1',
    'Your team blocks bulk mail that breaks rules of mailbox providers, and this would. {reasons}',
  ),
  broadcast_without_link: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'Broadcasts need an unsubscribe link that readers can open. Set `http.public_url` in the configuration.',
  ),
  unsubscribe_tag_recipients: entry(
    'validation_error',
    422,
    '554 5.7.1',
    'The unsubscribe link belongs to one person. Send an email with {tag} to exactly one recipient, or use a broadcast.',
  ),
  unsubscribe_tag_smtp: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'Tags such as {tag} are not filled in over SMTP. Send the email with the API, or use a broadcast.',
  ),
  unsubscribe_tag_link: entry(
    'validation_error',
    422,
    '554 5.7.1',
    '{tag} needs an address that readers can open. Set `http.public_url` in the configuration.',
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
    'The request body is not valid UTF-8, which JSON requires (RFC 8259 §8.1).',
  ),
  malformed_request: entry('validation_error', 400, '500 5.5.2', 'The request is not valid HTTP.'),
  one_host: entry(
    'validation_error',
    400,
    '500 5.5.2',
    'A request must have exactly one `Host` header (RFC 9112 §3.2).',
  ),
  headers_too_large: entry(
    'validation_error',
    431,
    '500 5.5.2',
    'The request has too many headers, or they are too long.',
  ),
  request_timeout: entry(
    'validation_error',
    408,
    '421 4.4.2',
    'The request timed out before it was complete.',
  ),
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
    'The request body is compressed. Send it uncompressed, without `Content-Encoding`.',
  ),
  body_too_slow: entry(
    'validation_error',
    408,
    '421 4.4.2',
    'The request arrived too slowly: less than 1 KB/s for 30 seconds. Nothing was accepted.',
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
  image_invalid: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'This is not an image that emails can show, or it is incomplete. Supported formats: {types}.',
  ),
  image_too_large: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The image has {width} × {height} pixels. The limits are {side} pixels on each side and 25 million in all.',
  ),
  images_full: entry(
    'validation_error',
    507,
    '452 4.3.1',
    "The team's images would take more than {limit} MB. Delete some that no email needs.",
  ),
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
    'The `{field}` field accepts at most {limit} recipients.',
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
    'This email cannot be {change} because it is {state}. Only scheduled emails can be {change}.',
  ),
  not_resendable: entry(
    'validation_error',
    422,
    '554 5.5.1',
    'This email cannot be resent from here: {reason}. Resend it from your app.',
  ),
  body_not_array: entry('validation_error', 422, '554 5.6.0', 'The `request.body` field must be an `array`.'),
  link_expired: entry(
    'not_found',
    410,
    '550 5.1.1',
    'This link has expired. Request a new one through the API.',
  ),
  share_too_long: entry('validation_error', 422, '554 5.6.0', '`expires_in` must not exceed 48 hours.'),
  too_many_webhooks: entry(
    'validation_error',
    422,
    '554 5.5.1',
    'A team can have at most {limit} webhooks. Remove one first.',
  ),
  too_many: entry(
    'validation_error',
    422,
    '554 5.5.1',
    'A team can have at most {limit} {things}. Remove one first.',
  ),
  segment_with_rules: entry(
    'validation_error',
    422,
    '554 5.5.1',
    'The rules of this segment decide which contacts are in it. Contacts cannot be added or removed by hand.',
  ),
  import_unreadable: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The file cannot be imported: in line {line}, {problem}.',
  ),
  import_no_csv: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The file is not CSV in UTF-8, UTF-16 or Windows-1252: {problem}.',
  ),
  import_no_email_column: entry('validation_error', 422, '554 5.6.0', 'CSV missing required email column'),
  import_started: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'This import has started already. Only one that waits can be previewed, started or discarded.',
  ),
  import_closed: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'This import cannot be undone: it has not ended, ended more than {hours} hours ago, or was undone already.',
  ),
  import_form: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'Send the file as `multipart/form-data`: expected {expected}.',
  ),
  contact_exists: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Another contact already has this email address.',
  ),
  property_exists: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'A contact property with the key `{key}` already exists.',
  ),
  event_exists: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'An event with the name `{name}` already exists.',
  ),
  event_about: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'Exactly one of `contact_id` or `email` must be provided.',
  ),
  event_limit: entry(
    'rate_limit_exceeded',
    429,
    '452 4.7.1',
    'A team can send at most {limit} events a day. Try again tomorrow (UTC).',
  ),
  alias_taken: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Another template already has the alias `{alias}`.',
  ),
  slug_taken: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'The archive of another team already has the slug `{slug}`.',
  ),
  template_changed: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'The template has changed since you opened it. Load it again, then repeat your change.',
  ),
  automation_changed: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Somebody else changed the steps of this automation since you opened it. Load it again, then repeat your change.',
  ),
  run_not_failed: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Only a run that failed can be retried, and it has not failed.',
  ),
  automation_stopping: entry(
    'resource_locked',
    409,
    '451 4.3.2',
    'The automation `{name}` was stopped, and its runs are being ended. Try again in a minute.',
  ),
  template_in_use: entry(
    'resource_locked',
    409,
    '554 5.5.1',
    'The automation `{name}` sends this template. Disable the automation, or choose another template in it.',
  ),
  template_unpublished: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The template `{name}` is not published. Publish it before sending.',
  ),
  template_and_content: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'Use either `template`, or `html` and `text`, not both.',
  ),
  merge_tag: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'Invalid `{field}` field: the tag that starts with `{start}` is incomplete or has an invalid name. Write tags as {example}.',
  ),
  merge_missing: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'Missing value for the variable `{name}`, which has no fallback value.',
  ),
  merge_too_large: entry(
    'validation_error',
    422,
    '554 5.3.4',
    'With its values filled in, the content has more than {limit} characters.',
  ),
  not_in_batch: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The `{field}` field is not supported in batches. Send this email with a separate request.',
  ),

  // ── idempotency
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

  // ── limits
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
  invalid_region: entry('invalid_region', 422, '554 5.6.0', 'Region must be {regions}.'),

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
    "The {domain} domain is not verified. Please add it to this server and verify it, or send from one of your team's domains.",
  ),
  key_restricted_to_domain: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'This API key is not allowed to send from {domain}.',
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
    'Another team on this server has verified the {domain} domain. It must remove the domain before you can verify it here.',
  ),
  dkim_selectors_used: entry(
    'validation_error',
    422,
    '550 5.7.1',
    'Both DKIM selectors of the domain are in use, because receivers may still verify mail signed with the previous key. Rotate again after {date}.',
  ),

  // ── sending IPs
  not_operator: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'Only the team that operates this server can view and change its sending IPs.',
  ),
  source_taken: entry('validation_error', 409, '554 5.5.1', 'The sending IP {ip} already exists.'),
  source_configured: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'The sending IP {ip} comes from the configuration file. Remove it from `delivery.source_ips`, or suspend it.',
  ),

  node_alive: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'The node {name} is alive. Stop it first, on its machine: systemctl stop posthaste.',
  ),

  // ── the queue
  queue_not_operator: entry(
    'validation_error',
    403,
    '550 5.7.1',
    "Only the team that operates this server can change other teams' queued mail or move mail to another pool.",
  ),
  queue_grew: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'Nothing was changed: {count} deliveries match now, but {expected} were expected. Preview the change again.',
  ),
  not_undoable: entry('validation_error', 409, '554 5.5.1', 'This cannot be undone: {reason}.'),
  hold_rules_full: entry(
    'validation_error',
    409,
    '554 5.5.1',
    'There can be at most {limit} hold rules. End one first.',
  ),

  // ── raw messages
  message_malformed: entry(
    'validation_error',
    422,
    '554 5.6.0',
    'The message cannot be accepted: {expected}.',
  ),
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
    'The message needs exactly one {field} field with one valid address. It has {count} such fields, or the address cannot be parsed.',
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
    'The Date field cannot be parsed. Use the format Fri, 20 Nov 2026 10:00:00 +0000 (RFC 5322 3.3).',
  ),
  message_loop: entry(
    'validation_error',
    422,
    '554 5.4.6',
    'The message has passed through too many servers; this looks like a mail loop.',
  ),

  // ── the SMTP session
  smtp_line: entry(
    'validation_error',
    400,
    '500 5.5.2',
    'A command must be a single line of at most {limit} octets that ends in CR LF and has no other control characters.',
  ),
  smtp_unknown_command: entry('validation_error', 400, '500 5.5.1', 'Command not recognized.'),
  smtp_not_implemented: entry('validation_error', 400, '502 5.5.1', 'Command not implemented.'),
  smtp_not_smtp: entry('validation_error', 400, '421 4.7.0', 'This is a mail server; it accepts only SMTP.'),
  smtp_syntax: entry('validation_error', 400, '501 5.5.4', 'Syntax error; expected {expected}.'),
  smtp_sequence: entry('validation_error', 400, '503 5.5.1', 'Bad sequence of commands: {expected}.'),
  smtp_parameter: entry(
    'validation_error',
    400,
    '555 5.5.4',
    'Parameter {parameter} is not supported with {command}.',
  ),
  smtp_path: entry('validation_error', 422, '553 5.1.3', 'Invalid address: {expected}.'),
  smtp_needs_utf8: entry(
    'validation_error',
    422,
    '553 5.6.7',
    'A non-ASCII address needs SMTPUTF8 on MAIL (RFC 6531).',
  ),
  smtp_needs_tls: entry('missing_api_key', 401, '530 5.7.0', 'Encryption required. Send STARTTLS first.'),
  smtp_require_tls: entry(
    'validation_error',
    400,
    '530 5.7.0',
    'REQUIRETLS needs an encrypted connection. Send STARTTLS first (RFC 8689).',
  ),
  smtp_auth_needs_tls: entry(
    'missing_api_key',
    401,
    '538 5.7.11',
    'Authentication needs an encrypted connection. Send STARTTLS first. If you just sent a key unencrypted, treat it as stolen.',
  ),
  smtp_needs_auth: entry(
    'missing_api_key',
    401,
    '530 5.7.0',
    'Authentication required: use AUTH with the username posthaste and an API key as the password.',
  ),
  smtp_relay: entry(
    'missing_api_key',
    403,
    '554 5.7.1',
    'Relay access denied. Authenticate with AUTH to send mail through this server.',
  ),
  inbound_unknown: entry('not_found', 404, '550 5.1.1', 'No email was sent with this return path.'),
  inbound_sender: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'Return paths accept only delivery reports, sent with MAIL FROM:<>.',
  ),
  inbound_listed: entry(
    'validation_error',
    403,
    '554 5.7.1',
    '{ip} is listed by {zone}. Request removal from that list.',
  ),
  inbound_spam: entry('validation_error', 403, '554 5.7.1', 'The spam filter rejected the message.'),
  inbound_later: entry(
    'rate_limit_exceeded',
    429,
    '451 4.7.1',
    'The spam filter asks to send the message again later.',
  ),
  inbound_unjudged: entry(
    'application_error',
    503,
    '451 4.7.1',
    'The spam filter cannot be asked right now. Try again shortly.',
  ),
  inbound_one: entry(
    'validation_error',
    422,
    '452 4.5.3',
    'Without authentication, a message can have only one recipient. Send to the others in separate transactions.',
  ),
  inbound_full: entry(
    'validation_error',
    422,
    '552 5.2.2',
    'The limit on stored messages for this return path has been reached.',
  ),
  inbound_rate: entry(
    'rate_limit_exceeded',
    429,
    '450 4.7.1',
    'Too many unauthenticated messages. Try again in {seconds} seconds.',
  ),
  received_unknown: entry('not_found', 404, '550 5.1.1', 'The recipient does not receive mail here.'),
  received_full: entry(
    'rate_limit_exceeded',
    429,
    '452 4.2.2',
    'The recipient has received too much mail in the last 24 hours.',
  ),
  report_unknown: entry('not_found', 404, '550 5.1.1', 'No domain has this address for reports.'),
  report_sender: entry(
    'validation_error',
    403,
    '550 5.7.1',
    'Reports are accepted only from messages that pass DMARC for the domain of their From field.',
  ),
  report_unreadable: entry(
    'validation_error',
    422,
    '550 5.6.0',
    'The message has no DMARC or TLS report that can be read.',
  ),
  report_foreign: entry('validation_error', 422, '550 5.7.1', 'The report is about another domain.'),
  report_full: entry(
    'rate_limit_exceeded',
    429,
    '452 4.2.2',
    'The domain has received too many reports in the last 24 hours.',
  ),
  inbound_lookups: entry(
    'rate_limit_exceeded',
    429,
    '421 4.7.0',
    'Too many recipients on one connection. Reconnect to continue.',
  ),
  smtp_credentials: entry(
    'invalid_api_key',
    403,
    '535 5.7.8',
    'Authentication failed: the username must be posthaste and the password a valid API key.',
  ),
  smtp_mechanism: entry(
    'validation_error',
    400,
    '504 5.5.4',
    'Unsupported mechanism; use AUTH PLAIN or AUTH LOGIN.',
  ),
  smtp_auth_cancelled: entry('validation_error', 400, '501 5.7.0', 'Authentication canceled.'),
  smtp_recipients: entry(
    'validation_error',
    422,
    '452 4.5.3',
    'A message can have at most {limit} recipients. Send to the others in another transaction.',
  ),
  smtp_no_recipients: entry('validation_error', 422, '554 5.5.1', 'No valid recipients.'),
  smtp_many_errors: entry('rate_limit_exceeded', 429, '421 4.7.0', 'Too many errors on this connection.'),
  smtp_idle: entry('validation_error', 408, '421 4.4.2', 'Idle for {limit} seconds; closing the connection.'),
  smtp_session_over: entry(
    'validation_error',
    408,
    '421 4.4.2',
    'Session time limit reached. Reconnect to continue.',
  ),
  smtp_network: entry(
    'validation_error',
    403,
    '554 5.7.1',
    'This listener accepts connections only from configured networks, and yours is not one of them.',
  ),
  smtp_key_revoked: entry(
    'invalid_api_key',
    403,
    '421 4.7.0',
    'The API key used for this session was deleted. Authenticate with another key.',
  ),
  smtp_key_gone: entry(
    'invalid_api_key',
    403,
    '550 5.7.1',
    'The API key configured for this listener does not exist. Correct api_key_id in [[smtp.trusted]].',
  ),

  // ── the server
  connections_total: entry(
    'application_error',
    503,
    '421 4.3.2',
    'The server has reached its connection limit. Try again in a minute.',
  ),
  connections_strangers: entry(
    'application_error',
    503,
    '421 4.3.2',
    'The server has too many connections from unauthenticated clients. Try again in a minute.',
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
  address_rate: entry(
    'rate_limit_exceeded',
    429,
    '421 4.7.0',
    'Too many requests without a valid API key from your address. Try again in {seconds} seconds.',
  ),
  live_streams: entry(
    'rate_limit_exceeded',
    429,
    '421 4.7.0',
    'Too many live streams are open. Close some, then try again.',
  ),
  share_used: entry(
    'rate_limit_exceeded',
    429,
    '452 4.3.1',
    'You are sending too many large messages at once. Nothing was accepted. Try again when some have finished.',
  ),
  test_limit: entry(
    'rate_limit_exceeded',
    429,
    '421 4.7.0',
    'A team can send {limit} test emails an hour, so that tests are not used to send to readers. Try again in {minutes} minutes.',
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
    'The server is shutting down. Nothing was accepted. Try again shortly.',
  ),
  disk_full: entry(
    'application_error',
    507,
    '452 4.3.1',
    'The server has too little free disk space to accept mail. Nothing was accepted. Try again in a few minutes.',
  ),
  unavailable: entry(
    'application_error',
    503,
    '451 4.3.0',
    'The server cannot accept mail right now. Try again shortly.',
  ),
  outcome_unknown: entry(
    'application_error',
    503,
    '451 4.3.0',
    'The server could not confirm that it stored the mail, and may have accepted it. If you send it again without the same idempotency key, it may arrive twice.',
  ),
  overloaded: entry(
    'application_error',
    503,
    '451 4.3.2',
    'The server is busy with large messages. Nothing was accepted. Try again in a few seconds.',
  ),
  internal: entry('internal_server_error', 500, '451 4.3.0', 'An unexpected error occurred.'),
} as const satisfies Record<string, Entry>

export type RefusalKey = keyof typeof REFUSALS

/** A refusal to be sent to the caller. Thrown anywhere in a request, and formatted in one place per protocol. */
export class Refusal extends Error {
  readonly key: RefusalKey
  readonly wireName: string
  readonly status: number
  readonly smtp: string
  /** Seconds until a retry makes sense, if known: the value of `{seconds}` in the sentence. */
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

/** Returns the same refusal for one element of a list; indexes count from 0. */
export function refuseAt(index: number, { key, message }: Refusal): Refusal {
  return Object.assign(new Refusal(key), { message: `Email at index ${index}: ${message}` })
}

/** Creates a refusal to throw: `throw refuse('not_found', { resource: 'Email' })`. `seconds` also sets `retryAfter`. */
export function refuse(key: RefusalKey, fill: Record<string, string | number> = {}): Refusal {
  return new Refusal(key, fill)
}
