/** What browsers are told with every answer, made once: JSON is only ever a page when somebody opens it as one. */

/** The dashboard runs no script but its own, and shows mail in frames that load nothing from elsewhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // Mail comes with styles in its elements.
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
 * The same for all routes; pages with a policy of their own put it in the place of this one. There is no
 * `strict-transport-security`: whether this host speaks HTTPS, and for how long, is for the operator to promise (`http.hsts_days`).
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  // The links of a message that is only looked at are nobody's business, a name server's included.
  'x-dns-prefetch-control': 'off',
  'x-frame-options': 'DENY',
})
