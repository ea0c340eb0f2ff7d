/**
 * Parts of the hosted API that this version doesn't have. Clients get an explanation instead of a plain "not found".
 */
import { refuse } from '../mail/refusals.ts'
import type { App } from './deps.ts'

/** By path; the first match counts. */
const FEATURES: readonly (readonly [path: RegExp, feature: string])[] = [
  [/^\/(?:automations|events)(?:\/|$)/, 'automations'],
  [/^\/inboxes(?:\/|$)/, 'inboxes'],
  [/^\/domains\/(?:claims?(?:\/|$)|[^/]+\/claim(?:\/|$))/, 'claiming domains'],
  [/^\/oauth\/grants(?:\/|$)/, 'OAuth grants'],
]

/** A word in each of these paths, so that nearly every other request is excluded by one test. */
const MAYBE = /automation|event|inbox|claim|oauth/

/** Returns the unsupported part of the hosted API that a path belongs to; undefined for all other paths. */
function unsupportedFeature(url: string): string | undefined {
  if (!MAYBE.test(url)) return undefined
  const path = url.split(/[?#]/, 1)[0]!.replaceAll(/\/{2,}/g, '/')
  return FEATURES.find(([pattern]) => pattern.test(path))?.[1]
}

/** Refuses requests for these parts with any method, even if a route would take a word for an id. */
export function refuseUnsupported(app: App): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const feature = unsupportedFeature(request.url)
    done(feature === undefined ? undefined : refuse('unsupported_endpoint', { feature }))
  })
}
