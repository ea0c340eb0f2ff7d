import type { Session } from '../../../appliance/api/session.ts'
import { getSession, signOut } from '../api/calls.ts'
import { ApiError, whenSessionEnds } from '../api/client.ts'
import { forget } from './resource.svelte.ts'
import { go, router } from './router.svelte.ts'

/** The sign-in state; `unknown` until the server has responded. */
export type Standing =
  | { kind: 'unknown' }
  | { kind: 'unreachable'; message: string }
  | { kind: 'out' }
  | { kind: 'in'; session: Session }

let standing = $state.raw<Standing>({ kind: 'unknown' })

/** The session of this browser. */
export const auth = {
  get standing(): Standing {
    return standing
  },
}

/** Loads the session. */
export async function recognise(): Promise<void> {
  standing = { kind: 'unknown' }
  try {
    standing = { kind: 'in', session: await getSession() }
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) leave()
    else standing = { kind: 'unreachable', message: error instanceof Error ? error.message : String(error) }
  }
}

/** Starts the session that a sign-in returned, and goes to the page the person came from. */
export function enter(session: Session): void {
  standing = { kind: 'in', session }
  const next = router.query.get('next')
  go(next?.startsWith('/') ? next : '/emails', { replace: true })
}

/** Whether the person's role includes a right. Without it, controls are hidden or disabled; the server enforces it. */
export const may = (right: Session['rights'][number]): boolean =>
  standing.kind === 'in' && standing.session.rights.includes(right)

/** Whether the team runs the server. Only this team sees data about the whole server. */
export const operates = (): boolean => standing.kind === 'in' && standing.session.operator

/**
 * Returns the host and port for SMTP clients; null if there is no listener. In the sandbox, the configured host name
 * doesn't resolve, so this is the page's host.
 */
export function smtpDoor(): { host: string; port: number } | null {
  if (standing.kind !== 'in') return null
  const { hostname, sandbox, smtp_port: port } = standing.session.node
  return port === null ? null : { host: sandbox ? location.hostname : hostname, port }
}

/** Switches to another team, and drops all data of the previous one. */
export function changeTeam(session: Session): void {
  forget()
  standing = { kind: 'in', session }
  go('/emails')
}

/** Reloads the session without clearing the page, after a role or name has changed. */
export async function renewSession(): Promise<void> {
  standing = { kind: 'in', session: await getSession() }
}

/** Signs out, here and on the server. */
export async function depart(): Promise<void> {
  try {
    await signOut()
  } catch (error) {
    // The session has already ended, which is no error.
    if (!(error instanceof ApiError && error.status === 401)) throw error
  }
  forget()
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
  forget()
  standing = { kind: 'out' }
  if (OUTSIDE.includes(router.path)) return
  const back = router.here === '/' ? '' : `?${new URLSearchParams({ next: router.here })}`
  go(`/sign-in${back}`, { replace: true })
}

whenSessionEnds(() => {
  if (standing.kind === 'in') leave()
})
