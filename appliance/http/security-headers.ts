/** Security headers of every response, built once. */

/**
 * Content security policy of the dashboard: it runs only its own scripts, and shows mail in frames that load nothing
 * from other servers.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // Mail has inline styles.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "frame-src 'self'",
  "frame-ancestors 'none'",
  "form-action 'self'",
  "base-uri 'none'",
].join(';')

/**
 * Headers that are the same for all routes. Pages with their own policy override this one. Without
 * `strict-transport-security`, because the operator decides whether and how long this host requires HTTPS
 * (`http.hsts_days`).
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  // Opening a message must not reveal its links, not even to a name server.
  'x-dns-prefetch-control': 'off',
  'x-frame-options': 'DENY',
})
