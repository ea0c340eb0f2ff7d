/** Routes for one's own accounts at identity providers. */
import * as api from '../../api/identities.ts'
import { serve } from '../serve.ts'
import { presentDeleted, presentList } from '../../api/shared.ts'
import { timestamp } from '../../api/timestamp.ts'
import { readIdentity } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import {
  createNodeThrottle,
  limitAttempts,
  requireSession,
  requireRecentProof,
  renewSessionCookie,
} from '../own-account.ts'
import { MAX_UNAUTHENTICATED_BODY } from '../sign-in.ts'
import { redirectToProvider } from './sign-in-providers.ts'

/** Maximum number of attempts per minute of one person to link an account. */
const MOST_TRIES = 10
const MINUTE = 60_000

export function identityRoutes(app: App, deps: HttpDeps, { origin }: { origin: () => string }): void {
  const { providers } = deps
  const throttle = createNodeThrottle(deps, MOST_TRIES, MINUTE)
  const own = { right: 'none' } as const

  serve(app, api.listIdentities, own, async (request) => {
    const { user } = await requireSession(deps, request)
    const identities = await providers.identities(user.id)
    return presentList(
      identities.map(({ id, provider, label, email, createdAt, lastUsedAt }) => ({
        object: 'identity' as const,
        id,
        provider,
        label,
        email,
        created_at: timestamp(createdAt),
        last_used_at: lastUsedAt === null ? null : timestamp(lastUsedAt),
      })),
    )
  })

  const linked = { ...own, audit: null, bodyLimit: MAX_UNAUTHENTICATED_BODY } as const
  serve(app, api.linkIdentity, linked, async (request, reply) => {
    const { user, token } = await requireRecentProof(deps, request)
    limitAttempts(reply, throttle, user.id)
    const { provider } = request.body
    return redirectToProvider(
      { request, reply, provider },
      { origin, providers },
      { next: undefined, link: token },
    )
  })

  const unlinked = {
    ...own,
    audit: { action: 'identity.unlink', read: readIdentity({ providers }) },
  } as const
  serve(app, api.unlinkIdentity, unlinked, async (request, reply) => {
    const own = await requireRecentProof(deps, request)
    const id = request.params.id
    await providers.unlink({ userId: own.user.id, id, keep: own.token })
    await renewSessionCookie(deps, { request, reply }, own)
    return presentDeleted('identity', id)
  })
}
