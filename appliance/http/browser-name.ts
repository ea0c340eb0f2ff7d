import type { FastifyRequest } from 'fastify'
import type { App } from './deps.ts'
import { DEVICE_COOKIE, storeCookie, readCookie } from './cookies.ts'
import { DEVICE_LIFETIME, type SignInThrottle } from './sign-in-throttle.ts'
import type { Clock } from '../clock/clock.ts'

/**
 * Returns the name of the browser in a User-Agent field, accurate enough for people to recognize their own browsers.
 */

/** The first match wins, because most browsers also include the names of those further down. */
const BROWSERS: [pattern: RegExp, name: string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Headless)?(?:Chrome|Chromium)\/|\bCriOS\//, 'Chrome'],
  [/\bVersion\/.*\bSafari\//, 'Safari'],
]

const SYSTEMS: [pattern: RegExp, name: string][] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

const firstOf = (rules: [RegExp, string][], text: string): string | undefined =>
  rules.find(([pattern]) => pattern.test(text))?.[1]

/**
 * Returns a name such as `Firefox on Linux`; for other programs, the product name (RFC 9110 §10.1.5); null for an empty
 * field.
 */
export function browserName(userAgent: string | null): string | null {
  if (userAgent === null) return null
  const browser = firstOf(BROWSERS, userAgent)
  const system = firstOf(SYSTEMS, userAgent)
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`
  return /^[\w!#$%&'*+.^`|~-]{1,40}/.exec(userAgent)?.[0] ?? null
}

/** Returns the address that a browser has just signed in with. Every method of sign-in gives the same response. */
function signedIn({ method }: FastifyRequest, answer: unknown): string | undefined {
  if (method !== 'POST' || typeof answer !== 'object' || answer === null) return undefined
  const { object, user } = answer as { object?: unknown; user?: { email?: unknown } }
  return object === 'session' && typeof user?.email === 'string' ? user.email : undefined
}

/** Sets the device cookie in every response that reports a sign-in. Applies to all routes that are added afterwards. */
export function setDeviceCookies(app: App, throttle: SignInThrottle, clock: Clock): void {
  app.addHook('preSerialization', (request, reply, payload, done) => {
    const email = signedIn(request, payload)
    if (email !== undefined) {
      const value = throttle.deviceFor(email, readCookie(request, DEVICE_COOKIE))
      storeCookie({ request, reply }, DEVICE_COOKIE, value, clock.now() + DEVICE_LIFETIME)
    }
    done(null, payload)
  })
}
