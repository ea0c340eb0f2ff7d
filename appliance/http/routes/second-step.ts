import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PasskeyAnswer } from '../../accounts/accounts.ts'
import { refuse } from '../../mail/refusals.ts'
import { dropCookie, SECOND_STEP, shownCookie } from '../cookies.ts'
import type { App, HttpDeps } from '../deps.ts'
import { relyingPartyOf } from '../own-account.ts'
import * as factors from '../schemas/factors.ts'
import * as schema from '../schemas/session.ts'
import { admitStranger, browserOf, keepSignIn, presentStep, STRANGERS_BODY } from '../sign-in.ts'
import { createThrottle } from '../throttle.ts'
import { present } from './session.ts'

/** Second steps and passkeys tried from one network within a minute. */
const MOST_ATTEMPTS = 20
const WINDOW = 60_000

const open = { access: 'public', secretBody: true, audit: null } as const

/** Refuses what comes from other sites, or too often. */
type Admit = (request: FastifyRequest, reply: FastifyReply) => void

/** The second step of a sign-in, and the sign-in by passkey alone. */
export function secondStepRoutes(app: App, deps: HttpDeps): void {
  const throttle = createThrottle(deps.clock, MOST_ATTEMPTS, WINDOW)
  const admit: Admit = (request, reply) => admitStranger(request, reply, throttle)
  codeRoutes(app, deps, admit)
  passkeyRoutes(app, deps, admit)
}

/** The ticket of the first step. Refuses: `sign_in_over`. */
function ticketOf(request: FastifyRequest): string {
  const ticket = shownCookie(request, SECOND_STEP)
  if (ticket === undefined) throw refuse('sign_in_over')
  return ticket
}

function codeRoutes(app: App, deps: HttpDeps, admit: Admit): void {
  const { accounts } = deps

  app.get(
    '/session/step',
    { config: { access: 'public' }, schema: { response: { 200: schema.SignInStep } } },
    async (request) => {
      const waiting = await accounts.waiting(ticketOf(request))
      if (!waiting) throw refuse('sign_in_over')
      return presentStep(waiting.methods)
    },
  )

  app.delete(
    '/session/step',
    { config: open, schema: { response: { 200: schema.SignedOut } } },
    (request, reply) => {
      admit(request, reply)
      dropCookie({ request, reply }, SECOND_STEP)
      return { object: 'session' as const, deleted: true as const }
    },
  )

  const ways = [
    ['/session/totp', (code: string) => ({ code })],
    ['/session/recovery-code', (recoveryCode: string) => ({ recoveryCode })],
  ] as const
  for (const [path, answerOf] of ways)
    app.post(
      path,
      {
        config: open,
        bodyLimit: STRANGERS_BODY,
        schema: { body: factors.GivenCode, response: { 200: schema.Session } },
      },
      async (request, reply) => {
        admit(request, reply)
        const given = { ticket: ticketOf(request), answer: answerOf(request.body.code) }
        const began = await accounts.factors.answer({ ...given, ...browserOf(request) })
        keepSignIn(request, reply, { kind: 'session', ...began })
        return present(began.token, deps)
      },
    )
}

function passkeyRoutes(app: App, deps: HttpDeps, admit: Admit): void {
  const { accounts } = deps

  app.post(
    '/session/passkey/options',
    {
      config: open,
      bodyLimit: STRANGERS_BODY,
      schema: { response: { 200: factors.PasskeyOptions } },
    },
    async (request, reply) => {
      admit(request, reply)
      const rp = relyingPartyOf(request, deps)
      const options = await accounts.factors.requestPasskey({ ticket: shownCookie(request, SECOND_STEP), rp })
      return { object: 'passkey_options' as const, options }
    },
  )

  app.post(
    '/session/passkey',
    {
      config: open,
      bodyLimit: STRANGERS_BODY,
      schema: { body: factors.GivenPasskey, response: { 200: schema.Session } },
    },
    async (request, reply) => {
      admit(request, reply)
      const rp = relyingPartyOf(request, deps)
      const response: PasskeyAnswer = request.body.response
      const ticket = shownCookie(request, SECOND_STEP)
      const browser = browserOf(request)
      const result =
        ticket === undefined
          ? await accounts.factors.signInByPasskey({ response, rp, ...browser })
          : {
              kind: 'session' as const,
              ...(await accounts.factors.answer({ ticket, answer: { passkey: response, rp }, ...browser })),
            }
      keepSignIn(request, reply, result)
      if (result.kind === 'second_factor') throw refuse('sign_in_over')
      return present(result.token, deps)
    },
  )
}
