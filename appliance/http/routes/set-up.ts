import * as api from '../../api/set-up.ts'
import { serve } from '../serve.ts'
import type { App, HttpDeps } from '../deps.ts'
import { admitStranger, browserOf, keepSignIn, STRANGERS_BODY } from '../sign-in.ts'
import { createThrottle } from '../../clock/throttle.ts'

/**
 * Maximum number of attempts per minute from one network. The token can't be guessed, but each valid use costs a
 * password hash.
 */
const MOST_ATTEMPTS = 10
const WINDOW = 60_000

/** Routes for the first run: whether there is no owner yet, and creating the owner with the printed link. */
export function setUpRoutes(app: App, { accounts, setUp, clock }: HttpDeps): void {
  const throttle = createThrottle(clock, MOST_ATTEMPTS, WINDOW)

  serve(app, api.getSetup, {}, async () => ({ object: 'setup' as const, open: await setUp.isOpen() }))

  serve(
    app,
    api.setUp,
    { secretBody: true, audit: null, bodyLimit: STRANGERS_BODY },
    async (request, reply) => {
      admitStranger(request, reply, throttle)
      const { token, email, password, team_name: teamName } = request.body
      const browser = browserOf(request)
      const { user, team } = await setUp.use({ token, email, password, teamName, ip: browser.ip })
      const entered = { userId: user.id, teamId: team.id, method: 'password', strong: false } as const
      keepSignIn(request, reply, await accounts.enter({ ...entered, ...browser }))
      void reply.code(201)
      return { object: 'setup' as const, open: false }
    },
  )
}
