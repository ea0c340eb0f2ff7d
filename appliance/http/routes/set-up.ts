import * as api from '../../api/set-up.ts'
import { serve } from '../serve.ts'
import type { App, HttpDeps } from '../deps.ts'
import { createNodeThrottle } from '../own-account.ts'
import { limitUnauthenticated, getBrowser, setSignInCookie, MAX_UNAUTHENTICATED_BODY } from '../sign-in.ts'

/**
 * Maximum number of attempts per minute from one network. The token can't be guessed, but each valid use costs a
 * password hash.
 */
const MOST_ATTEMPTS = 10
const WINDOW = 60_000

/** Routes for the first run: whether there is no owner yet, and creating the owner with the printed link. */
export function setupRoutes(app: App, deps: HttpDeps): void {
  const { accounts, setUp } = deps
  const throttle = createNodeThrottle(deps, MOST_ATTEMPTS, WINDOW)

  serve(app, api.getSetup, {}, async () => ({ object: 'setup' as const, open: await setUp.isOpen() }))

  const changed = { secretBody: true, audit: null, bodyLimit: MAX_UNAUTHENTICATED_BODY } as const
  serve(app, api.setUp, changed, async (request, reply) => {
    limitUnauthenticated(request, reply, throttle)
    const { token, email, password, team_name: teamName } = request.body
    const browser = getBrowser(request)
    const { user, team } = await setUp.use({ token, email, password, teamName, ip: browser.ip })
    const entered = { userId: user.id, teamId: team.id, method: 'password', strong: false } as const
    setSignInCookie(request, reply, await accounts.enter({ ...entered, ...browser }))
    return { object: 'setup' as const, open: false }
  })
}
