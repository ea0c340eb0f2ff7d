import * as api from '../../api/session.ts'
import { serve } from '../serve.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PasskeyAssertion } from '../../accounts/accounts.ts'
import { refuse } from '../../mail/refusals.ts'
import { removeCookie, SECOND_STEP_COOKIE, readCookie } from '../cookies.ts'
import type { App, HttpDeps } from '../deps.ts'
import { createNodeThrottle, getRelyingParty } from '../own-account.ts'
import {
  limitUnauthenticated,
  getBrowser,
  setSignInCookie,
  presentSignInStep,
  MAX_UNAUTHENTICATED_BODY,
} from '../sign-in.ts'
import { presentSession } from './session.ts'

/** Maximum number of attempts per minute from one network with second factors and passkeys. */
const MOST_ATTEMPTS = 20
const WINDOW = 60_000

const open = { secretBody: true, audit: null } as const

/** Refuses cross-site requests, and too many requests. */
type Admit = (request: FastifyRequest, reply: FastifyReply) => void

/** Routes for the second step of a sign-in, and for signing in by passkey alone. */
export function secondStepRoutes(app: App, deps: HttpDeps): void {
  const throttle = createNodeThrottle(deps, MOST_ATTEMPTS, WINDOW)
  const admit: Admit = (request, reply) => limitUnauthenticated(request, reply, throttle)
  codeRoutes(app, deps, admit)
  passkeyRoutes(app, deps, admit)
}

/** Returns the ticket of the first step. Refuses: `sign_in_over`. */
function ticketOf(request: FastifyRequest): string {
  const ticket = readCookie(request, SECOND_STEP_COOKIE)
  if (ticket === undefined) throw refuse('sign_in_over')
  return ticket
}

function codeRoutes(app: App, deps: HttpDeps, admit: Admit): void {
  const { accounts } = deps

  serve(app, api.getSignInStep, {}, async (request) => {
    const waiting = await accounts.waiting(ticketOf(request))
    if (!waiting) throw refuse('sign_in_over')
    return presentSignInStep(waiting.methods)
  })

  serve(app, api.cancelSignIn, { ...open }, (request, reply) => {
    admit(request, reply)
    removeCookie({ request, reply }, SECOND_STEP_COOKIE)
    return { object: 'session' as const, deleted: true as const }
  })

  const options = { ...open, bodyLimit: MAX_UNAUTHENTICATED_BODY }
  const finish = async (
    request: FastifyRequest,
    reply: FastifyReply,
    answer: { code: string } | { recoveryCode: string },
  ) => {
    admit(request, reply)
    const began = await accounts.factors.answer({ ticket: ticketOf(request), answer, ...getBrowser(request) })
    setSignInCookie(request, reply, { kind: 'session', ...began })
    return presentSession(began.token, deps)
  }
  serve(app, api.signInWithTotp, options, (request, reply) =>
    finish(request, reply, { code: request.body.code }),
  )
  serve(app, api.signInWithRecoveryCode, options, (request, reply) =>
    finish(request, reply, { recoveryCode: request.body.code }),
  )
}

function passkeyRoutes(app: App, deps: HttpDeps, admit: Admit): void {
  const { accounts } = deps

  serve(
    app,
    api.getPasskeySignInOptions,
    { ...open, bodyLimit: MAX_UNAUTHENTICATED_BODY },
    async (request, reply) => {
      admit(request, reply)
      const rp = getRelyingParty(request, deps)
      const options = await accounts.factors.requestPasskey({
        ticket: readCookie(request, SECOND_STEP_COOKIE),
        rp,
      })
      return { object: 'passkey_options' as const, options }
    },
  )

  const signing = { ...open, bodyLimit: MAX_UNAUTHENTICATED_BODY } as const
  serve(app, api.signInWithPasskey, signing, async (request, reply) => {
    admit(request, reply)
    const rp = getRelyingParty(request, deps)
    const response: PasskeyAssertion = request.body.response
    const ticket = readCookie(request, SECOND_STEP_COOKIE)
    const browser = getBrowser(request)
    const result =
      ticket === undefined
        ? await accounts.factors.signInByPasskey({ response, rp, ...browser })
        : {
            kind: 'session' as const,
            ...(await accounts.factors.answer({ ticket, answer: { passkey: response, rp }, ...browser })),
          }
    setSignInCookie(request, reply, result)
    if (result.kind === 'second_factor') throw refuse('sign_in_over')
    return presentSession(result.token, deps)
  })
}
