/** Signs in through an identity provider: redirects the browser to it, handles the response, and finds the person. */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Admission, Identity, SignInMethod, Storage } from '../storage/storage.ts'
import { recordAuditEntry } from './audit.ts'
import { createGithubProvider } from './github.ts'
import { identifyUser, isMultiFactor, type IdentificationProblem, type AccountLookup } from './identify.ts'
import { createOpenIdProvider } from './openid.ts'
import {
  ProviderProblem,
  type Assertion,
  type AuthorizationFlow,
  type Provider,
  type ProviderFault,
  type ProviderSettings,
} from './provider.ts'
import type { Browser, SignInResult, SignIns } from './sign-in.ts'
import { hashToken, isToken, newToken } from './tokens.ts'

/** Time limit for signing in at the provider, in milliseconds. */
const PROVIDER_FLOW_LIFETIME = 10 * 60_000

/**
 * expired: too late, used before, or started in another browser · taken: the provider's account is linked to another
 * person here · signed_out: the session that wanted to link has ended
 */
export type ProviderSignInProblem =
  ProviderFault | IdentificationProblem | 'expired' | 'taken' | 'signed_out' | 'no_team'

/** The result of returning from a provider. `next`: the dashboard page to open. */
export type ProviderSignInResult =
  | {
      kind: 'entered'
      result: SignInResult
      userId: string
      /** Address as reported by the provider. */
      email: string
      /** The teams that a new person joined; empty for an existing person. */
      admitted: Admission[]
      /** The method used: `oidc:` and the id of the provider. */
      by: SignInMethod
      next: string
    }
  | { kind: 'linked'; teamId: string; by: string; identity: Identity }
  | {
      kind: 'refused'
      problem: ProviderSignInProblem
      /** Description of the problem for the log. */
      detail: string
      /** Whether the person wanted to link an account instead of signing in. */
      linking: boolean
      next: string
    }

export interface ProviderSignIns {
  /** Lists the providers for the sign-in page, in configuration order. */
  list(): { id: string; label: string; preset: ProviderSettings['preset'] }[]
  /**
   * Starts a sign-in at the provider and returns the URL for the browser. The token goes into a cookie of this browser,
   * and is required when it returns. Refuses: `not_found` (no such provider), `provider_unreachable`,
   * `provider_misconfigured`.
   * @param args.redirectUri where the provider sends the browser back to
   * @param args.next dashboard page to open afterwards, untrusted
   * @param args.link token of the session whose person wants to link an account; undefined to sign in
   */
  begin(args: {
    provider: string
    redirectUri: string
    next: string | undefined
    link?: string | undefined
  }): Promise<{ url: string; token: string; expiresAt: number }>
  /**
   * Handles the return of a browser. Never rejects because of the provider or the person.
   * @param args.returned the redirect URI with its query
   * @param args.token from the cookie
   */
  finish(
    args: { provider: string; returned: URL; token: string | undefined } & Browser,
  ): Promise<ProviderSignInResult>
  /** Lists the person's identities, oldest first; `label` is null when the provider is no longer configured. */
  identities(userId: string): Promise<(Identity & { label: string | null })[]>
  /**
   * Removes an identity and ends the sessions that it started, except `keep` (a session's token).
   * Refuses: `not_found`, `last_way_in`.
   */
  unlink(args: { userId: string; id: string; keep: string | undefined }): Promise<void>
}

/** Dependencies. */
export interface ProviderSignInDeps {
  storage: Storage
  clock: Clock
  accounts: Pick<SignIns, 'enter'>
  settings: readonly ProviderSettings[]
}

/** State kept while the browser is at the provider. */
interface Away extends AuthorizationFlow {
  provider: string
  next: string
  /** SHA-256 of the token of the session that links; null when someone signs in. */
  link: string | null
}

export function createProviderSignIns(deps: ProviderSignInDeps): ProviderSignIns {
  const { storage, clock, settings } = deps
  const providers = new Map(settings.map((one) => [one.id, createProvider(one, clock)]))
  return {
    list: () => settings.map(({ id, label, preset }) => ({ id, label, preset })),

    async begin({ provider: id, redirectUri, next, link }) {
      const provider = providers.get(id)
      if (!provider) throw refuse('not_found', { resource: 'Sign-in provider' })
      const flow: AuthorizationFlow = { state: newToken(), nonce: newToken(), verifier: newToken() }
      const url = await departure(provider, flow, redirectUri)
      const [token, now] = [newToken(), clock.now()]
      const expiresAt = now + PROVIDER_FLOW_LIFETIME
      const hash = link === undefined ? null : hashToken(link)
      const data: Away = { ...flow, provider: id, next: localPage(next), link: hash }
      const kept = { tokenHash: hashToken(token), kind: 'oidc', userId: null, data } as const
      await storage.createTicket({ ...kept, createdAt: now, expiresAt }, now)
      return { url: url.href, token, expiresAt }
    },

    async finish({ provider: id, returned, token, ...browser }) {
      const away = await takeAway(deps, token, id, returned)
      const provider = providers.get(id)
      if (!away || !provider)
        return { kind: 'refused', problem: 'expired', detail: '', linking: false, next: HOME }
      const [linking, next] = [away.link !== null, away.next]
      try {
        const assertion = await provider.exchange(away, returned)
        return await (linking
          ? link(deps, provider, assertion, away)
          : enter(deps, provider, assertion, browser, next))
      } catch (error) {
        if (!(error instanceof ProviderProblem)) throw error
        return { kind: 'refused', problem: error.fault, detail: error.message, linking, next }
      }
    },

    async identities(userId) {
      const all = await storage.listIdentities({ userId }, clock.now())
      return all.map((one) => ({ ...one, label: providers.get(one.provider)?.settings.label ?? null }))
    },

    async unlink({ userId, id, keep }) {
      const kept = keep === undefined ? null : hashToken(keep)
      const asked = { userId, id, providers: [...providers.keys()], keep: kept }
      const done = await storage.unlinkIdentity(asked, clock.now())
      if (done === 'missing') throw refuse('not_found', { resource: 'Linked account' })
      if (done === 'last') throw refuse('last_way_in')
    },
  }
}

const createProvider = (settings: ProviderSettings, clock: Clock): Provider =>
  settings.preset === 'github' ? createGithubProvider(settings) : createOpenIdProvider(settings, clock)

async function departure(provider: Provider, flow: AuthorizationFlow, redirectUri: string): Promise<URL> {
  try {
    return await provider.authorize(flow, redirectUri)
  } catch (error) {
    if (!(error instanceof ProviderProblem)) throw error
    const about = { provider: provider.settings.label, detail: error.message }
    throw refuse(error.fault === 'unreachable' ? 'provider_unreachable' : 'provider_misconfigured', about)
  }
}

/** The first page of the dashboard. */
const HOME = '/'

/**
 * Returns the path of the dashboard page in untrusted text, or the first page if the text could lead to another site or
 * folder.
 */
function localPage(next: string | undefined): string {
  if (next === undefined || next.length > 500 || !/^\/(?![/\\])/.test(next)) return HOME
  const base = 'http://posthaste.invalid'
  if (!URL.canParse(`/dashboard${next}`, base)) return HOME
  const url = new URL(`/dashboard${next}`, base)
  // Browsers treat `/..` and `\` as leaving the folder.
  if (url.origin !== base || !url.pathname.startsWith('/dashboard/')) return HOME
  return url.pathname.slice('/dashboard'.length) + url.search
}

/**
 * Returns and removes the state that was stored for this browser; it can be used once. Compares `state` first, so that
 * a forged response doesn't use it up.
 */
async function takeAway(
  { storage, clock }: ProviderSignInDeps,
  token: string | undefined,
  provider: string,
  returned: URL,
): Promise<Away | undefined> {
  if (token === undefined || !isToken(token)) return undefined
  const key = { tokenHash: hashToken(token), kind: 'oidc' } as const
  const seen = (await storage.peekTicket(key, clock.now()))?.data as Away | undefined
  if (seen?.provider !== provider || seen.state !== returned.searchParams.get('state')) return undefined
  return (await storage.takeTicket(key, clock.now()))?.data as Away | undefined
}

const newIdentity = (provider: Provider, assertion: Assertion, userId: string, now: number): Identity => ({
  id: newId(now),
  userId,
  provider: provider.settings.id,
  issuer: assertion.issuer,
  subject: assertion.subject,
  email: assertion.email,
  createdAt: now,
  lastUsedAt: null,
})

/** Links the identity to the signed-in person, who can use it to sign in from now on. */
async function link(
  { storage, clock }: ProviderSignInDeps,
  provider: Provider,
  assertion: Assertion,
  { link: tokenHash, next }: Away,
): Promise<ProviderSignInResult> {
  const now = clock.now()
  const refused = (problem: ProviderSignInProblem): ProviderSignInResult => ({
    kind: 'refused',
    problem,
    detail: '',
    linking: true,
    next,
  })
  if (tokenHash === null) return refused('signed_out')
  const session = await storage.findSession({ tokenHash }, now)
  if (!session) return refused('signed_out')
  const known: AccountLookup = { identityOf: null, addressOf: null, proven: false, invited: false }
  const identified = identifyUser(provider.settings, assertion, known)
  if (identified.kind === 'refused' && identified.problem === 'domain') return refused('domain')
  const { user, team } = session
  const identity = newIdentity(provider, assertion, user.id, now)
  // The session may have been ended because it was stolen. In that case, it must not link an identity.
  const done = await storage.linkIdentity({ identity, tokenHash }, now)
  if (done !== 'linked') return refused(done)
  return { kind: 'linked', teamId: team.id, by: user.email, identity }
}

/** Creates a session for an identified person. */
async function enter(
  deps: ProviderSignInDeps,
  provider: Provider,
  assertion: Assertion,
  browser: Browser,
  next: string,
): Promise<ProviderSignInResult> {
  const { storage, clock, accounts } = deps
  const { settings } = provider
  const recognised = await recognise(deps, provider, assertion, browser.ip)
  if ('problem' in recognised) return { kind: 'refused', detail: '', linking: false, next, ...recognised }
  const { userId, admitted } = recognised
  if ((await storage.teamToEnter({ userId }, clock.now())) === undefined)
    return { kind: 'refused', problem: 'no_team', detail: '', linking: false, next }
  const strong = isMultiFactor(settings, assertion)
  const method = `oidc:${settings.id}` as const
  const result = await accounts.enter({ userId, method, strong, ...browser })
  return { kind: 'entered', result, userId, email: assertion.email, admitted, by: method, next }
}

/** Finds the person; creates or links them if the rules say so. */
async function recognise(
  { storage, clock }: ProviderSignInDeps,
  provider: Provider,
  assertion: Assertion,
  ip: string | null,
): Promise<{ userId: string; admitted: Admission[] } | { problem: ProviderSignInProblem }> {
  const now = clock.now()
  const { settings } = provider
  const { email } = assertion
  const [identity, user, invitations] = await Promise.all([
    storage.findIdentity(assertion, now),
    storage.findUser({ email }, now),
    storage.openInvitations({ email }, now),
  ])
  const invited = invitations.length > 0
  const address = { addressOf: user?.id ?? null, proven: (user?.provenAt ?? null) !== null }
  const known = { identityOf: identity?.userId ?? null, ...address, invited }
  const found = identifyUser(settings, assertion, known)
  if (found.kind === 'refused') return { problem: found.problem }
  if (found.kind === 'known' || found.kind === 'link') {
    const used = identity ?? newIdentity(provider, assertion, found.userId, now)
    if (!identity && (await storage.linkIdentity({ identity: used }, now)) === 'taken')
      return { problem: 'expired' }
    if (!identity) await noteLink(storage, clock, { identity: used, person: user?.email ?? '', ip })
    await storage.useIdentity({ id: used.id, email }, now)
    return { userId: found.userId, admitted: [] }
  }
  return (await admit(storage, provider, assertion, now)) ?? { problem: 'unknown' }
}

/** Records in the audit log, without a session, that an identity was linked because of its address. */
async function noteLink(
  storage: Storage,
  clock: Clock,
  { identity, person, ip }: { identity: Identity; person: string; ip: string | null },
): Promise<void> {
  const { id, userId, provider, email } = identity
  const team = await storage.teamToEnter({ userId }, clock.now())
  const actor = { kind: 'user', name: person, ip } as const
  const act = { action: 'identity.link', target: `identity ${id}`, after: { provider, email } } as const
  await recordAuditEntry(storage, clock, { teamId: team?.id ?? null, actor, ...act })
}

async function admit(
  storage: Storage,
  provider: Provider,
  assertion: Assertion,
  now: number,
): Promise<{ userId: string; admitted: Admission[] } | undefined> {
  const { join, linkByEmail } = provider.settings
  // A provider that is trusted with addresses proves ownership as well as mail to the address does.
  const provenAt = linkByEmail ? now : null
  const user = { id: newId(now), email: assertion.email, passwordHash: null, createdAt: now, provenAt }
  const identity = { ...newIdentity(provider, assertion, user.id, now), lastUsedAt: now }
  const teamId = join?.teamId ?? (await storage.firstTeam({}, now))?.id
  const joined = join && teamId !== undefined ? { teamId, role: join.role } : null
  const admitted = await storage.admitNewcomer({ user, identity, join: joined }, now)
  return admitted && { userId: user.id, admitted }
}
