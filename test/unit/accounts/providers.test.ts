import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createGithubProvider } from '../../../appliance/accounts/github.ts'
import { identifyUser, isMultiFactor, type AccountLookup } from '../../../appliance/accounts/identify.ts'
import { createOpenIdProvider } from '../../../appliance/accounts/openid.ts'
import type { Assertion } from '../../../appliance/accounts/provider.ts'
import { createTestClock } from '../../world/clock.ts'
import { browse, startIdentityProvider, type IdentityProvider } from '../../world/identity-provider.ts'
import type { ProviderSettings } from '../../../appliance/accounts/accounts.ts'

const BACK = 'https://mail.acme.example/session/oidc/x/callback'
const flow = { state: 's'.repeat(43), nonce: 'n'.repeat(43), verifier: 'v'.repeat(43) }

const settings = (more: Partial<ProviderSettings>): ProviderSettings => ({
  id: 'x',
  preset: 'oidc',
  label: 'X',
  issuer: '',
  clientId: 'posthaste',
  clientSecret: 'secret',
  allowedDomains: [],
  join: null,
  linkByEmail: false,
  trustSecondFactor: false,
  ...more,
})

describe('OpenID Connect', () => {
  let idp: IdentityProvider
  beforeAll(async () => {
    idp = await startIdentityProvider([BACK])
  })
  afterAll(() => idp.close())

  const open = (more: Partial<ProviderSettings> = {}) =>
    createOpenIdProvider(
      settings({ issuer: idp.issuer, clientSecret: idp.clientSecret, ...more }),
      createTestClock(),
    )
  const there = async (provider: ReturnType<typeof open>) =>
    browse((await provider.authorize(flow, BACK)).href, ({ origin }) => origin === new URL(BACK).origin)

  test('returns the issuer, subject and verified address of an OpenID Connect user', async () => {
    const provider = open()
    expect(await provider.exchange(flow, await there(provider))).toEqual({
      issuer: idp.issuer,
      subject: 'ada',
      email: 'ada@acme.example',
      hostedDomain: null,
      methods: null,
    })
  })

  test.each([
    ['another nonce', { ...flow, nonce: 'another' }],
    ['another state', { ...flow, state: 'another' }],
    ['another verifier', { ...flow, verifier: 'w'.repeat(43) }],
  ])('rejects an OpenID Connect response when the flow has %s', async (_, other) => {
    const provider = open()
    const returned = await there(provider)
    await expect(provider.exchange(other, returned)).rejects.toMatchObject({ fault: 'invalid' })
  })

  test('rejects an OpenID Connect provider whose issuer does not match', async () => {
    const { port } = new URL(idp.issuer)
    const provider = open({ issuer: `http://localhost:${port}` })
    await expect(provider.authorize(flow, BACK)).rejects.toMatchObject({ fault: 'misconfigured' })
  })

  test('requires https:// for a provider, except on this machine', async () => {
    const provider = open({ issuer: 'http://login.acme.example' })
    await expect(provider.authorize(flow, BACK)).rejects.toMatchObject({ fault: 'misconfigured' })
  })
})

describe('GitHub', () => {
  let server: Server
  let emails: unknown
  let token: unknown
  const asked: string[] = []
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`)
      const answers: Record<string, unknown> = {
        '/login/oauth/access_token': token,
        '/api/v3/user': { id: 583_231, login: 'ada' },
        '/api/v3/user/emails': emails,
      }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answers[request.url ?? '']))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterAll(() => void server.close())

  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const open = () => createGithubProvider(settings({ preset: 'github', issuer: origin() }))
  const granted = { access_token: 'gho_x', token_type: 'bearer', scope: 'user:email' }
  const returned = (query = 'code=c') => new URL(`${BACK}?${query}&state=${flow.state}`)
  const address = (email: string, primary: boolean, verified: boolean) => ({ email, primary, verified })

  test('requests only email addresses from GitHub, with a PKCE challenge', async () => {
    const url = await open().authorize(flow, BACK)
    expect(url.href.startsWith(`${origin()}/login/oauth/authorize?`)).toBe(true)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      scope: 'user:email',
      state: flow.state,
      code_challenge_method: 'S256',
      redirect_uri: BACK,
    })
  })

  test('returns the account number and verified primary address of a GitHub user', async () => {
    token = granted
    emails = [address('other@acme.example', false, true), address('Ada@acme.example', true, true)]
    expect(await open().exchange(flow, returned())).toMatchObject({
      issuer: `${origin()}/login/oauth`,
      subject: '583231',
      email: 'ada@acme.example',
    })
    expect(asked.filter((line) => line.includes('Bearer gho_x'))).toHaveLength(2)
  })

  test.each([
    ['the primary address is not verified', [address('a@acme.example', true, false)]],
    ['only another address is verified', [address('a@acme.example', false, true)]],
    ['there is no address', []],
    ['the address response is no list', { message: 'Not Found' }],
  ])('rejects a sign-in with GitHub when %s', async (_, list) => {
    token = granted
    emails = list
    await expect(open().exchange(flow, returned())).rejects.toMatchObject({ fault: 'unverified' })
  })

  test.each([
    ['a code that was used', 'bad_verification_code', 'invalid'],
    ['a wrong secret', 'incorrect_client_credentials', 'misconfigured'],
  ])('reports %s although GitHub’s response has status 200', async (_, error, fault) => {
    token = { error, error_description: 'no' }
    await expect(open().exchange(flow, returned())).rejects.toMatchObject({ fault })
  })

  test('reports an authorization that the user denied', async () => {
    const refused = open().exchange(flow, returned('error=access_denied'))
    await expect(refused).rejects.toMatchObject({ fault: 'denied' })
  })
})

describe('identify', () => {
  const assertion = (more: Partial<Assertion> = {}): Assertion => ({
    issuer: 'i',
    subject: 's',
    email: 'ada@acme.example',
    hostedDomain: null,
    methods: null,
    ...more,
  })
  const known = (more: Partial<AccountLookup> = {}): AccountLookup => ({
    identityOf: null,
    addressOf: null,
    proven: false,
    invited: false,
    ...more,
  })
  const all = { linkByEmail: true, join: { role: 'viewer', teamId: null } } as const

  test.each<[string, Partial<ProviderSettings>, Partial<Assertion>, Partial<AccountLookup>, string]>([
    ['finds a linked account', {}, {}, { identityOf: 'u', addressOf: 'v' }, 'known'],
    ['does not link an account by its address alone', {}, {}, { addressOf: 'v' }, 'not_linked'],
    [
      'does not link an account by its address and an invitation',
      {},
      {},
      { addressOf: 'v', invited: true },
      'not_linked',
    ],
    [
      'links an account by its proven address where that is allowed',
      all,
      {},
      { addressOf: 'v', proven: true },
      'link',
    ],
    ['does not link an account by an unproven address', all, {}, { addressOf: 'v' }, 'unproven'],
    ['accepts an invitation', {}, {}, { invited: true }, 'invited'],
    ['rejects an unknown person', {}, {}, {}, 'unknown'],
    ['lets an unknown person join where all may', all, {}, {}, 'join'],
    [
      'rejects a linked account of another domain',
      { allowedDomains: ['b.example'] },
      {},
      { identityOf: 'u' },
      'domain',
    ],
    [
      'rejects a domain below an allowed one',
      { allowedDomains: ['example'] },
      {},
      { identityOf: 'u' },
      'domain',
    ],
  ])('identify %s', (_, more, said, here, expected) => {
    const found = identifyUser(settings(more), assertion(said), known(here))
    expect('problem' in found ? found.problem : found.kind).toBe(expected)
  })

  const google = { preset: 'google', allowedDomains: ['acme.example'] } as const
  test.each<[string, Partial<ProviderSettings>, Partial<Assertion>, string]>([
    ['lets an address of an allowed organization join', google, { hostedDomain: 'acme.example' }, 'join'],
    ['rejects an address without an organization', google, {}, 'domain'],
    ['rejects an address of another organization', google, { hostedDomain: 'b.example' }, 'domain'],
    [
      'does not trust an address of another provider, without allowed domains',
      { preset: 'google' },
      {},
      'unknown',
    ],
    [
      'lets a gmail.com address join, without allowed domains',
      { preset: 'google' },
      { email: 'a@gmail.com' },
      'join',
    ],
  ])('with Google, %s', (_, more, said, expected) => {
    const found = identifyUser(settings({ ...all, ...more }), assertion(said), known())
    expect('problem' in found ? found.problem : found.kind).toBe(expected)
  })

  test.each<[boolean, string[] | null, boolean]>([
    [false, ['mfa'], false],
    [true, null, true],
    [true, ['pwd', 'otp'], true],
    [true, ['pwd'], false],
    [true, [], false],
  ])(
    'with trustSecondFactor %s and methods %j, the sign-in is strong: %s',
    (trustSecondFactor, methods, strong) => {
      expect(isMultiFactor(settings({ trustSecondFactor }), { methods })).toBe(strong)
    },
  )
})
