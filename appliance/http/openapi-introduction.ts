/** What holds for every path: the text in front of the reference, in the little Markdown that the page knows. */
export const INTRODUCTION = `The REST interface of Posthaste. It speaks the wire format of a well-known hosted service: its official client libraries work with this server's origin as their base URL and a key of this server.

## Authentication
Send a key with each request: \`Authorization: Bearer re_…\`. Keys have full access, or may only send; those may be bound to one domain. There is no CORS: keys do not belong into browsers.

## Requests and answers
Bodies are JSON. Unknown fields are ignored, field names may be in camelCase, constants in any case, and a trailing or double slash in the path does not matter. Every answer carries \`x-request-id\`, under which the request is found in the log. Ids are UUIDs that sort by time of creation. Times are in UTC, as \`2026-11-20 20:39:59.54+00\`.

## Lists
Newest first, in pages of \`limit\` (1 to 100, by default 20). \`after\` and \`before\` take the id at the end of a page and do not include it. Short lists (domains, keys) come whole unless one of these is given. \`has_more\` tells whether there is another page.

## Errors
An error has the HTTP status of its \`statusCode\`, a \`name\` for programs and a \`message\` for people. On 429, 503 and 507 \`retry-after\` says in how many seconds it is worth trying again.

## Limits
\`ratelimit-limit\`, \`ratelimit-remaining\` and \`ratelimit-reset\` tell how many requests a team may make in a second, how many are left, and when all are back. \`x-resend-monthly-quota\` and \`x-resend-daily-quota\` tell how many recipients were sent to.

## Sending once
With an \`Idempotency-Key\` of 1 to 256 characters a request can be repeated for 24 hours: the email is sent once and the same answer given again. The same key with another body is refused with 409.`
