/**
 * Separates routes for people from routes for apps: if people have their own listener, the dashboard isn't available on
 * the others.
 */
import type { FastifyRequest } from 'fastify'
import type { IncomingMessage, RequestListener } from 'node:http'
import { refuse } from '../mail/refusals.ts'
import type { App } from './deps.ts'

/**
 * Public routes for apps, recipients of their mail, and monitors. Every other public route belongs to sign-in or the
 * dashboard. A new public route must be added here to be available to apps.
 */
const OPEN = [
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/docs',
  '/docs/',
  '/.well-known/acme-challenge/:token',
  '/.well-known/mta-sts.txt',
  '/downloads/',
  '/shared/',
  '/a/',
  '/f/',
  '/i/',
  '/l/',
  '/o/',
  '/u/',
]

/** Whether a public route, given by its pattern, is in `OPEN`. Pure. */
const isOpen = (pattern: string): boolean =>
  OPEN.some((one) => (one.endsWith('/') ? pattern.startsWith(one) : pattern === one))

function isForPeople({ is404, routeOptions: { config, url } }: FastifyRequest): boolean {
  if (is404) return false // Unknown paths are unknown on each listener.
  return config.access === 'people' || (config.access === 'public' && !isOpen(url ?? ''))
}

export interface ListenerHandlers {
  /** Handles requests on the people's listeners. */
  people: RequestListener
  /** Handles requests on the other listeners. */
  apps: RequestListener
}

/**
 * Refuses routes for people on the apps' listeners. Must run before authentication.
 * @param apart whether people have their own listeners; if false, all routes are available on all listeners
 */
export function restrictPeopleRoutes(app: App, apart: boolean): ListenerHandlers {
  const route: RequestListener = (request, response) => app.routing(request, response)
  if (!apart) return { people: route, apps: route }
  const ofApps = new WeakSet<IncomingMessage>()
  app.addHook('onRequest', (request, _reply, done) =>
    done(ofApps.has(request.raw) && isForPeople(request) ? refuse('unknown_endpoint') : undefined),
  )
  return {
    people: route,
    apps(request, response) {
      ofApps.add(request)
      // Apps' listeners ignore sessions, so drop the cookies that a browser sends.
      delete request.headers.cookie
      route(request, response)
    },
  }
}
