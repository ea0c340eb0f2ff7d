/** API calls for the signed-in person's account: password and sessions. */
import type { Static } from 'typebox'
import type {
  AccountSessionList,
  AccountSessionsEnded,
  RequestReset,
  ChangePassword,
  ConfirmReset,
  ResetRequested,
  ResetConfirmed,
} from '../../../appliance/api/account.ts'
import { change, read } from './client.ts'

export type { AccountSession } from '../../../appliance/api/account.ts'

export const changePassword = (body: Static<typeof ChangePassword>) =>
  change('POST', '/account/password', body)

/** Requests a password reset link by email. The response is the same whether or not the account exists. */
export const requestReset = (body: Static<typeof RequestReset>) =>
  change<Static<typeof ResetRequested>>('POST', '/session/reset', body)

/** Sets a new password, authorized by the token of a reset link. */
export const confirmReset = (body: Static<typeof ConfirmReset>) =>
  change<Static<typeof ResetConfirmed>>('POST', '/session/reset/confirm', body)

export const listSessions = (signal?: AbortSignal) =>
  read<Static<typeof AccountSessionList>>('/account/sessions', signal)

export const endSession = (session: string) =>
  change('DELETE', `/account/sessions/${encodeURIComponent(session)}`)

/** Ends all sessions but this one. */
export const endOtherSessions = () =>
  change<Static<typeof AccountSessionsEnded>>('DELETE', '/account/sessions')
