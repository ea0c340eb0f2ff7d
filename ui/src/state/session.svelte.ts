import type { Session } from '../../../appliance/api/session.ts'
import { getSession, signOut } from '../api/calls.ts'
import { ApiError, onSessionEnd } from '../api/client.ts'
import { clearCache } from './resource.svelte.ts'
import { go, router } from './router.svelte.ts'

/** The sign-in state; `unknown` until the server has responded. */
export type SignInState =
  | { kind: 'unknown' }
  | { kind: 'unreachable'; message: string }
  | { kind: 'out' }
  | { kind: 'in'; session: Session }

let standing = $state.raw<SignInState>({ kind: 'unknown' })

/** The session of this browser. */
export const auth = {
  get standing(): SignInState {
    return standing
  },
}

/** Loads the session. */
export async function loadSession(): Promise<void> {
  standing = { kind: 'unknown' }
  try {
    standing = { kind: 'in', session: await getSession() }
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) leave()
    else standing = { kind: 'unreachable', message: error instanceof Error ? error.message : String(error) }
  }
}

/** Starts the session that a sign-in returned, and goes to the page the person came from. */
export function startSession(session: Session): void {
  standing = { kind: 'in', session }
  const next = router.query.get('next')
  go(next?.startsWith('/') ? next : '/emails', { replace: true })
}

/** Whether the person's role includes a right. Without it, controls are hidden or disabled; the server enforces it. */
export const may = (right: Session['rights'][number]): boolean =>
  standing.kind === 'in' && standing.session.rights.includes(right)

/** Whether the team runs the server. Only this team sees data about the whole server. */
export const isOperator = (): boolean => standing.kind === 'in' && standing.session.operator

/**
 * Returns the host and port for SMTP clients; null if there is no listener. In the sandbox, the configured host name
 * doesn't resolve, so this is the page's host.
 */
export function getSmtpEndpoint(): { host: string; port: number } | null {
  if (standing.kind !== 'in') return null
  const { hostname, sandbox, smtp_port: port } = standing.session.node
  return port === null ? null : { host: sandbox ? location.hostname : hostname, port }
}

/** Switches to another team, and drops all data of the previous team. */
export function activateTeam(session: Session): void {
  clearCache()
  standing = { kind: 'in', session }
  go('/emails')
}

/** Reloads the session without clearing the page, after the person's role or name has changed. */
export async function reloadSession(): Promise<void> {
  standing = { kind: 'in', session: await getSession() }
}

/** Signs out on the server and in this window. */
export async function signOutAndClear(): Promise<void> {
  try {
    await signOut()
  } catch (error) {
    // The session has already ended, which isn't an error here.
    if (!(error instanceof ApiError && error.status === 401)) throw error
  }
  clearCache()
  standing = { kind: 'out' }
  go('/sign-in')
}

/** Pages for people who aren't signed in. */
const OUTSIDE = ['/sign-in', '/setup', '/forgot-password', '/reset', '/invitation']

/**
 * Goes to the sign-in page, which returns to this page afterwards. Drops all data, because it belongs to the previous
 * session.
 */
function leave(): void {
  clearCache()
  standing = { kind: 'out' }
  if (OUTSIDE.includes(router.path)) return
  const back = router.here === '/' ? '' : `?${new URLSearchParams({ next: router.here })}`
  go(`/sign-in${back}`, { replace: true })
}

onSessionEnd(() => {
  if (standing.kind === 'in') leave()
})
