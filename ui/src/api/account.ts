/** One's own account: the password, and where one is signed in. */
import type { Static } from 'typebox'
import type {
  AccountSessionList,
  AccountSessionsEnded,
  AskReset,
  ChangePassword,
  ConfirmReset,
  ResetAsked,
  ResetDone,
} from '../../../appliance/api/account.ts'
import { change, read } from './client.ts'

export type { AccountSession } from '../../../appliance/api/account.ts'

export const changePassword = (body: Static<typeof ChangePassword>) =>
  change('POST', '/account/password', body)

/** Asks for a link by mail; says the same whether there is such an account or not. */
export const askReset = (body: Static<typeof AskReset>) =>
  change<Static<typeof ResetAsked>>('POST', '/session/reset', body)

/** Sets a password with the token of a link. */
export const confirmReset = (body: Static<typeof ConfirmReset>) =>
  change<Static<typeof ResetDone>>('POST', '/session/reset/confirm', body)

export const listSessions = (signal?: AbortSignal) =>
  read<Static<typeof AccountSessionList>>('/account/sessions', signal)

export const endSession = (session: string) =>
  change('DELETE', `/account/sessions/${encodeURIComponent(session)}`)

/** Ends all but this one. */
export const endOtherSessions = () =>
  change<Static<typeof AccountSessionsEnded>>('DELETE', '/account/sessions')
