/** Keeping people apart from apps: where a listener of their own is configured, the others do not know the dashboard. */
import type { FastifyRequest } from 'fastify'
import type { IncomingMessage, RequestListener } from 'node:http'
import { refuse } from '../mail/refusals.ts'
import type { App } from './deps.ts'

/**
 * Public routes that apps, their recipients and monitors use; each other public route is a step of signing in or a part
 * of the dashboard. What is not here is not open: a new public route must be put here to be had by apps.
 */
const OPEN = [
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/docs',
  '/docs/',
  '/.well-known/acme-challenge/:token',
  '/downloads/',
  '/shared/',
  '/i/',
  '/l/',
  '/o/',
  '/u/',
]

/** Whether a public route, by its pattern, is for others than people who sign in. Pure. */
const isOpen = (pattern: string): boolean =>
  OPEN.some((one) => (one.endsWith('/') ? pattern.startsWith(one) : pattern === one))

function isForPeople({ is404, routeOptions: { config, url } }: FastifyRequest): boolean {
  if (is404) return false // unknown at each door
  return config.access === 'people' || (config.access === 'public' && !isOpen(url ?? ''))
}

export interface AdminDoor {
  /** What answers at the people's listeners. */
  people: RequestListener
  /** What answers at the others. */
  apps: RequestListener
}

/**
 * Refuses what is for people at the doors for apps. Must come before whoever asks for keys.
 * @param apart false: there are no listeners of their own, and everything is everywhere
 */
export function keepApart(app: App, apart: boolean): AdminDoor {
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
      // Nobody is signed in here, whatever a browser sends along.
      delete request.headers.cookie
      route(request, response)
    },
  }
}
