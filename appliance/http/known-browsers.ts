/** Leaves in each browser that somebody signed in with a cookie that tells it from strangers at the next sign-in. */
import type { FastifyRequest } from 'fastify'
import type { App } from './deps.ts'
import { DEVICE, keepCookie, shownCookie } from './cookies.ts'
import { DEVICE_LIFETIME, type SignInThrottle } from './sign-in-throttle.ts'
import type { Clock } from '../clock/clock.ts'

/** The address that a browser has just signed in with, whichever way: each ends in the same answer. */
function signedIn({ method }: FastifyRequest, answer: unknown): string | undefined {
  if (method !== 'POST' || typeof answer !== 'object' || answer === null) return undefined
  const { object, user } = answer as { object?: unknown; user?: { email?: unknown } }
  return object === 'session' && typeof user?.email === 'string' ? user.email : undefined
}

/** Sets the cookie with every answer that says who has signed in, from all routes that are added from now on. */
export function rememberBrowsers(app: App, throttle: SignInThrottle, clock: Clock): void {
  app.addHook('preSerialization', (request, reply, payload, done) => {
    const email = signedIn(request, payload)
    if (email !== undefined) {
      const value = throttle.deviceFor(email, shownCookie(request, DEVICE))
      keepCookie({ request, reply }, DEVICE, value, clock.now() + DEVICE_LIFETIME)
    }
    done(null, payload)
  })
}
