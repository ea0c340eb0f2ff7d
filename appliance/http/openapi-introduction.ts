/** What holds for every path: the text in front of the reference, in the little Markdown that the page knows. */
export const INTRODUCTION = `The REST API of Posthaste uses the wire format of a well-known hosted service. To use the official client libraries of that service, set their base URL to this server's origin and use a key of this server.

## Authentication
Send an API key with each request: \`Authorization: Bearer re_…\`. A key has full access or sending access. A key with sending access can be restricted to one domain. There is no CORS, because keys do not belong in browsers.

## Requests and responses
Bodies are JSON. Unknown fields are ignored, field names may be in camelCase, and constants are case-insensitive. Trailing and double slashes in the path do not matter. Every response has an \`x-request-id\`, which identifies the request in the log. Ids are UUIDs that sort by creation time. Times are in UTC, such as \`2026-11-20 20:39:59.54+00\`.

## Lists
Lists are sorted newest first and return pages of \`limit\` items (1 to 100, default 20). \`after\` and \`before\` take the id at the edge of a page and do not include it. Short lists (domains, keys) are returned whole unless one of these is set. \`has_more\` tells whether there is another page.

## Errors
An error response has a \`statusCode\`, which is also the HTTP status, a \`name\` for programs and a \`message\` for people. On 429, 503 and 507, \`retry-after\` is the number of seconds to wait before retrying.

## Limits
\`ratelimit-limit\`, \`ratelimit-remaining\` and \`ratelimit-reset\` tell how many requests a team can make per second, how many are left, and when the limit resets. \`x-resend-monthly-quota\` and \`x-resend-daily-quota\` tell how many recipients the team has sent to.

## Idempotency
With an \`Idempotency-Key\` of 1 to 256 characters, you can repeat a request for 24 hours. The email is sent once, and repeated requests get the original response. The same key with a different body is refused with 409.`
