import type { Session } from '../../../appliance/api/session.ts'
import { getSession, signOut } from '../api/calls.ts'
import { ApiError, whenSessionEnds } from '../api/client.ts'
import { forget } from './resource.svelte.ts'
import { go, router } from './router.svelte.ts'

/** Who is signed in. `unknown` until the appliance has been asked. */
export type Standing =
  | { kind: 'unknown' }
  | { kind: 'unreachable'; message: string }
  | { kind: 'out' }
  | { kind: 'in'; session: Session }

let standing = $state.raw<Standing>({ kind: 'unknown' })

/** The standing of this browser with the appliance. */
export const auth = {
  get standing(): Standing {
    return standing
  },
}

/** Asks who is signed in. */
export async function recognise(): Promise<void> {
  standing = { kind: 'unknown' }
  try {
    standing = { kind: 'in', session: await getSession() }
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) leave()
    else standing = { kind: 'unreachable', message: error instanceof Error ? error.message : String(error) }
  }
}

/** Takes the session that signing in returned and goes on to where the person was. */
export function enter(session: Session): void {
  standing = { kind: 'in', session }
  const next = router.query.get('next')
  go(next?.startsWith('/') ? next : '/emails', { replace: true })
}

/** Whether the person's role includes a right. What it does not is hidden or disabled; the appliance refuses it anyway. */
export const may = (right: Session['rights'][number]): boolean =>
  standing.kind === 'in' && standing.session.rights.includes(right)

/** Whether the team runs the server: what belongs to the whole machine is shown to no other. */
export const operates = (): boolean => standing.kind === 'in' && standing.session.operator

/** Where apps reach SMTP; null: nowhere. In the sandbox the host's name leads nowhere, so it is the name of this page. */
export function smtpDoor(): { host: string; port: number } | null {
  if (standing.kind !== 'in') return null
  const { hostname, sandbox, smtp_port: port } = standing.session.node
  return port === null ? null : { host: sandbox ? location.hostname : hostname, port }
}

/** Goes on in another team: nothing of the one before is kept. */
export function changeTeam(session: Session): void {
  forget()
  standing = { kind: 'in', session }
  go('/emails')
}

/** Asks again who is signed in, without a blank page meanwhile: after a role or a name has changed. */
export async function renewSession(): Promise<void> {
  standing = { kind: 'in', session: await getSession() }
}

/** Signs out here and at the appliance. */
export async function depart(): Promise<void> {
  try {
    await signOut()
  } catch (error) {
    // A session that had ended already is what was asked for.
    if (!(error instanceof ApiError && error.status === 401)) throw error
  }
  forget()
  standing = { kind: 'out' }
  go('/sign-in')
}

/** Pages for those who are not signed in. */
const OUTSIDE = ['/sign-in', '/setup', '/forgot-password', '/reset', '/invitation']

/** To the sign-in page, with the way back. What was loaded belongs to the one who was signed in: it is dropped. */
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
