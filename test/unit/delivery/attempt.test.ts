import { generateKeyPairSync } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterEach, describe, expect, test } from 'vitest'
import { loadBounceRules } from '../../../appliance/config/config.ts'
import { attemptDelivery, type AttemptDeps } from '../../../appliance/delivery/attempt.ts'
import { createClassifier } from '../../../appliance/mail/classify.ts'
import { createConnections } from '../../../appliance/delivery/connections.ts'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { createSigner } from '../../../appliance/signing/signing.ts'
import type { Domain, LeasedDelivery, SettleArgs } from '../../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import { firstOf, on } from '../../world/behaviour.ts'
import { dialog } from '../../world/scripted.ts'
import { createWorld, type World, type WorldDomain } from '../../world/world.ts'
import { lanesFor, policiesFor } from './lanes-and-policies.ts'

const rules = loadBounceRules()

const hour = 3_600_000
const message = Buffer.from(
  'From: alice@sender.test\r\nTo: bob@example.test\r\nSubject: Hello\r\n\r\nHello,\r\n..\r\n.\r\ntext \r\n\r\n\r\n',
)
const pair = generateKeyPairSync('ed25519')
const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'der' })
const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')
const domain = { id: 'domain', teamId: 'team', name: 'sender.test', tls: 'opportunistic' } as Domain
const key = {
  id: 'key',
  teamId: 'team',
  domainId: 'domain',
  selector: 'posthaste',
  createdAt: 0,
  state: 'active' as const,
  stateSince: 0,
  retireAt: null,
  algorithm: 'ed25519-sha256' as const,
  privateKey,
  publicKey,
}

/** The stored parts of an attempt. A missing part is missing in storage, too. */
interface Stored {
  message?: Uint8Array | undefined
  domain?: Domain | undefined
  keys?: (typeof key)[]
}

let world: World | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

interface Options extends Stored {
  hostname?: string
  allowNetworks?: string[]
  /** Number of attempts before this one, and the email's age in hours. */
  attempts?: number
  requireTls?: LeasedDelivery['requireTls']
  age?: number
}

interface Tried {
  settled: SettleArgs
  /** `state` or `state event` of each delivery. */
  states: Record<string, string>
  /** Step names, with the host where it changes. */
  path: string[]
}

async function tryTo(
  recipients: string[],
  domains: Record<string, WorldDomain>,
  options: Options = {},
): Promise<Tried> {
  world = await createWorld({ domains })
  const { clock } = world
  const now = clock.now()
  const stored: Stored = { message, domain, keys: [key], ...options }
  const resolver = createResolver({ servers: world.dnsServers, clock })
  const deps: AttemptDeps = {
    storage: {
      getMessage: async () => stored.message,
      getDomain: async () => stored.domain,
      signingKeys: async () => stored.keys ?? [],
      place: async () => ({ count: 0, next: null }),
      findReceivers: async () => [],
    },
    resolver,
    lanes: lanesFor(clock),
    policies: policiesFor(clock, resolver, world.deliveryPort),
    connections: createConnections({ clock }),
    signer: createSigner(),
    clock,
    log: createSilentLogger(),
    random: () => 0,
    classify: createClassifier(() => rules),
    options: {
      hostname: options.hostname ?? 'mail.sender.test',
      port: world.deliveryPort,
      allowNetworks: parseNetworks(options.allowNetworks ?? world.allowNetworks),
      ownAddresses: () => [],
      owner: 'owner',
    },
  }
  const batch = recipients.map((recipient, at): LeasedDelivery => ({
    id: `d${at}`,
    teamId: 'team',
    emailId: 'email',
    domainId: 'domain',
    recipient,
    domain: 'example.test',
    pool: 'default',
    provider: '?example.test',
    stream: 'transactional',
    attempts: options.attempts ?? 1,
    createdAt: now - (options.age ?? 0) * hour,
    expiresAt: now + (96 - (options.age ?? 0)) * hour,
    leaseUntil: now + hour,
    returnPath: 'bounce@send.sender.test',
    scheduledAt: null,
    reportTo: null,
    dsn: { ret: null, envid: null, notify: null, orcpt: null },
    requireTls: options.requireTls ?? null,
    dueAt: now,
    touchedAt: null,
  }))
  const { settle } = await attemptDelivery(batch, deps)
  const settled = settle!
  await deps.connections.close()
  const states = settled.changes.map(({ state, event }, at) => [
    recipients[at],
    event ? `${state} ${event.type}` : state,
  ])
  let last: string | null = null
  const path = settled.attempt!.transcript.steps.map(({ name, host }) => {
    const said = host !== null && host !== last ? `${name}@${host}` : name
    last = host
    return said
  })
  return { settled, states: Object.fromEntries(states) as Record<string, string>, path }
}

const bob = 'bob@example.test'
const mx = (...hosts: NonNullable<WorldDomain['mx']>): Record<string, WorldDomain> => ({
  'example.test': { mx: hosts },
})

describe('a successful attempt', () => {
  test('delivers a signed message over TLS and records the transcript', async () => {
    const { settled, states, path } = await tryTo(
      [bob],
      mx({ preference: 10, host: 'mx1.example.test', exchanger: { tls: 'self-signed' } }),
    )
    expect(states).toEqual({ [bob]: 'delivered email.delivered' })
    expect(path).toEqual([
      'resolve',
      'resolve',
      'connect@mx1.example.test',
      'greeting',
      'ehlo',
      'starttls',
      'tls',
      'ehlo',
      'mail',
      'rcpt',
      'data',
      'body',
    ])
    const { transcript, deliveryIds, emailId, teamId, startedAt, endedAt } = settled.attempt!
    expect(transcript).toMatchObject({
      host: 'mx1.example.test',
      tls: { verified: false, version: 'TLSv1.3' },
    })
    expect(transcript.ip).toMatch(/^127\./)
    expect({ deliveryIds, emailId, teamId, owner: settled.owner }).toEqual({
      deliveryIds: ['d0'],
      emailId: 'email',
      teamId: 'team',
      owner: 'owner',
    })
    expect(endedAt).toBeGreaterThanOrEqual(startedAt)
    const [arrival] = world!.mailboxOf('mx1.example.test')
    expect(arrival).toMatchObject({ envelope: { from: 'bounce@send.sender.test', to: [bob] } })
  })

  test('transmits the message unchanged, so that the DKIM signature verifies', async () => {
    await tryTo([bob], mx({ preference: 10, host: 'mx1.example.test' }))
    const [arrival] = world!.mailboxOf('mx1.example.test')
    const { raw } = arrival as unknown as { raw: Buffer }
    expect(raw.subarray(-message.length).equals(message)).toBe(true)
    const report = (await dkimVerify(raw, {
      resolver: async () => [[`v=DKIM1; k=ed25519; p=${publicKey}`]],
    })) as unknown as {
      results: { status: { result: string } }[]
    }
    expect(report.results.map(({ status }) => status.result)).toEqual(['pass'])
  })

  test('sends to several recipients in one transaction and records an outcome for each', async () => {
    const behave = firstOf(
      on('rcpt', '550 5.1.1 no such user', { address: 'no@example.test' }),
      on('rcpt', '450 4.2.0 greylisted', { address: 'later@example.test' }),
    )
    const recipients = [bob, 'no@example.test', 'later@example.test', 'zoë@example.test']
    const { states, settled } = await tryTo(
      recipients,
      mx({ preference: 10, host: 'mx1.example.test', exchanger: { behave, smtp: { hideSMTPUTF8: true } } }),
    )
    expect(states).toEqual({
      [bob]: 'delivered email.delivered',
      'no@example.test': 'bounced email.bounced',
      'later@example.test': 'waiting email.delivery_delayed',
      'zoë@example.test': 'bounced email.bounced',
    })
    expect(settled.changes[1]!.event!.data.bounce).toMatchObject({
      subType: 'NoEmail',
      diagnosticCode: ['smtp; 550 5.1.1 no such user'],
    })
    expect(settled.changes[2]!.dueAt).toBe(settled.attempt!.endedAt + 60_000)
    expect(settled.changes[3]!.cause.status).toBe('5.6.7')
    expect(world!.mailboxOf('mx1.example.test')).toHaveLength(1)
  })

  test('encodes non-ASCII header text for a server without SMTPUTF8, and signs the result', async () => {
    const given = message.toString().replace('Hello\r\n', 'Grüße\r\n')
    const { states } = await tryTo(
      [bob],
      mx({ preference: 10, host: 'mx1.example.test', exchanger: { smtp: { hideSMTPUTF8: true } } }),
      { message: Buffer.from(given) },
    )
    expect(states).toEqual({ [bob]: 'delivered email.delivered' })
    const [arrival] = world!.mailboxOf('mx1.example.test')
    const { raw } = arrival as unknown as { raw: Buffer }
    expect(raw.toString()).toContain('\r\nSubject: =?utf-8?B?R3LDvMOfZQ==?=\r\n')
    const report = (await dkimVerify(raw, {
      resolver: async () => [[`v=DKIM1; k=ed25519; p=${publicKey}`]],
    })) as unknown as { results: { status: { result: string } }[] }
    expect(report.results.map(({ status }) => status.result)).toEqual(['pass'])
  })

  test.each([
    [true, 'bounced email.bounced', '5.6.7'],
    [false, 'delivered email.delivered', undefined],
  ])(
    'a non-ASCII address in the header requires SMTPUTF8 (SMTPUTF8 hidden: %s)',
    async (hideSMTPUTF8, state, status) => {
      const given = message.toString().replace('To: bob@', 'Cc: Zoë <zoë@example.test>\r\nTo: bob@')
      const { states, settled } = await tryTo(
        [bob],
        mx({ preference: 10, host: 'mx1.example.test', exchanger: { smtp: { hideSMTPUTF8 } } }),
        { message: Buffer.from(given) },
      )
      expect(states).toEqual({ [bob]: state })
      expect(settled.changes[0]!.cause.status).toBe(status)
    },
  )

  test('delivers to the domain itself if it has no MX record', async () => {
    const { states } = await tryTo([bob], { 'example.test': { implicit: {} } })
    expect(states).toEqual({ [bob]: 'delivered email.delivered' })
  })
})

describe('failover between hosts and addresses', () => {
  const toData = 'S: 220 x\n C: EHLO *\n S: 250 x\n C: MAIL *\n S: 250 x\n C: RCPT *\n S: 250 x\n C: DATA\n'
  const two = (
    first: NonNullable<NonNullable<WorldDomain['mx']>[0]['exchanger']>,
  ): Record<string, WorldDomain> =>
    mx(
      { preference: 10, host: 'mx1.example.test', exchanger: first },
      { preference: 20, host: 'mx2.example.test' },
    )

  test.each([
    ['refuses connections', { down: true as const }],
    ['refuses at its greeting', { behave: on('connect', '554 5.7.1 no') }],
    ['closes at its greeting', { behave: on('connect', 'drop') }],
    ['defers the sender', { behave: on('mail', '451 4.3.0 later') }],
    ['closes at RCPT', { behave: on('rcpt', 'drop') }],
    ['says 421 at RCPT', { behave: on('rcpt', '421 4.3.2 closing') }],
    ['closes at DATA', { script: dialog(`${toData} S: <close>`) }],
    ['does not speak SMTP', { script: dialog('S: SSH-2.0-OpenSSH') }],
  ])('uses the second host when the first %s', async (_, first) => {
    const { states, settled } = await tryTo([bob], two(first))
    expect(states).toEqual({ [bob]: 'delivered email.delivered' })
    expect(settled.attempt!.transcript.host).toBe('mx2.example.test')
    expect(world!.mailboxOf('mx2.example.test')).toHaveLength(1)
  })

  test.each([
    ['refuses the recipient', { behave: on('rcpt', '550 5.1.1 no') }, 'bounced email.bounced'],
    ['defers the recipient', { behave: on('rcpt', '450 4.2.0 later') }, 'waiting email.delivery_delayed'],
    ['refuses the sender', { behave: on('mail', '550 5.7.1 no') }, 'bounced email.bounced'],
    ['refuses the message', { behave: on('message', '554 5.7.1 no') }, 'bounced email.bounced'],
    ['defers the message', { behave: on('message', '451 4.3.0 later') }, 'waiting email.delivery_delayed'],
    [
      'closes in the body',
      { script: dialog(`${toData} S: 354 go\n C: DKIM-Signature: *\n S: <close>`) },
      'waiting email.delivery_delayed',
    ],
    ['closes after the final dot', { behave: on('message', 'drop') }, 'waiting email.delivery_delayed'],
  ])('keeps the outcome of the first host when it %s', async (_, first, state) => {
    const { states, settled } = await tryTo([bob], two(first))
    expect(states).toEqual({ [bob]: state })
    expect(settled.attempt!.transcript.host).toBe('mx1.example.test')
    expect(world!.mailboxOf('mx2.example.test')).toHaveLength(0)
  })

  test('delivers to a host whose other addresses are dead', async () => {
    const { states, path } = await tryTo(
      [bob],
      mx({ preference: 10, host: 'mx1.example.test', exchanger: { deadAddresses: 2 } }),
    )
    expect(states).toEqual({ [bob]: 'delivered email.delivered' })
    expect(path.filter((step) => step.startsWith('connect')).length).toBeGreaterThanOrEqual(1)
  })

  test('sends only recipients without a reply to the second host', async () => {
    const behave = firstOf(
      on('rcpt', '550 5.1.1 no', { address: 'no@example.test' }),
      on('rcpt', '421 4.3.2 closing', { address: bob }),
    )
    const { states } = await tryTo(['no@example.test', bob], two({ behave }))
    expect(states).toEqual({ 'no@example.test': 'bounced email.bounced', [bob]: 'delivered email.delivered' })
    expect(world!.mailboxOf('mx2.example.test')[0]).toMatchObject({
      envelope: { from: 'bounce@send.sender.test', to: [bob] },
    })
  })

  test('the cause names the preferred host when all hosts are down', async () => {
    const down = { down: true as const }
    const { states, settled } = await tryTo(
      [bob],
      mx(
        { preference: 10, host: 'mx1.example.test', exchanger: down },
        { preference: 20, host: 'mx2.example.test', exchanger: down },
      ),
    )
    expect(states).toEqual({ [bob]: 'waiting email.delivery_delayed' })
    expect(settled.changes[0]!.cause).toMatchObject({
      phase: 'connect',
      host: 'mx1.example.test',
      note: 'mx1.example.test refuses connections.',
    })
  })

  test('falls back to plain text on the same host when TLS is broken', async () => {
    const { states, path, settled } = await tryTo(
      [bob],
      mx({ preference: 10, host: 'mx1.example.test', exchanger: { tls: 'broken' } }),
    )
    expect(states).toEqual({ [bob]: 'delivered email.delivered' })
    expect(path.filter((step) => step.startsWith('connect'))).toHaveLength(3)
    expect(settled.attempt!.transcript.tls).toBeNull()
  })
})

describe('a recipient that cannot be reached', () => {
  test.each([
    ['the domain does not exist', {}, 'bounced email.bounced', 'route'],
    [
      'the domain accepts no mail',
      { 'example.test': { nullMx: true as const } },
      'bounced email.bounced',
      'route',
    ],
    [
      'the name servers fail',
      { 'example.test': { dns: 'SERVFAIL' as const } },
      'waiting email.delivery_delayed',
      'route',
    ],
  ])('a delivery has an outcome and no connection when %s', async (_, domains, state, phase) => {
    const { states, settled } = await tryTo([bob], { 'other.test': { implicit: {} }, ...domains })
    expect(states).toEqual({ [bob]: state })
    expect(settled.changes[0]!.cause.phase).toBe(phase)
    expect(settled.attempt!.transcript).toMatchObject({ host: null, ip: null, tls: null })
  })

  test('fails the delivery when the host’s address is not allowed', async () => {
    const { states, settled } = await tryTo([bob], mx({ preference: 10, host: 'mx1.example.test' }), {
      allowNetworks: [],
    })
    expect(states).toEqual({ [bob]: 'failed email.failed' })
    expect(settled.changes[0]!.event!.data.failed!.reason).toContain('delivery.allow_networks')
  })

  test('expires the delivery when its lifetime is over', async () => {
    const { states } = await tryTo(
      [bob],
      mx({ preference: 10, host: 'mx1.example.test', exchanger: { down: true } }),
      { attempts: 30, age: 95 },
    )
    expect(states).toEqual({ [bob]: 'expired email.bounced' })
  })
})

describe('a message that cannot be signed', () => {
  const domains = mx({ preference: 10, host: 'mx1.example.test' })
  test.each([
    ['the message', { message: undefined }, 'failed email.failed', /no longer stored/],
    ['the domain', { domain: undefined }, 'failed email.failed', /^The sending domain was removed before/],
    ['any key', { keys: [] }, 'failed email.failed', /sender\.test has no active DKIM key/],
    [
      'a readable key',
      { keys: [{ ...key, privateKey: Buffer.from('x') }] },
      'waiting email.delivery_delayed',
      /could not be signed with the DKIM keys of sender\.test/,
    ],
  ])('ends or defers the delivery without connecting if it lacks %s', async (_, stored, state, note) => {
    const { states, settled, path } = await tryTo([bob], domains, stored)
    expect(states).toEqual({ [bob]: state })
    expect(settled.changes[0]!.cause).toMatchObject({ phase: 'sign', host: null })
    expect(settled.changes[0]!.cause.note).toMatch(note)
    expect(path).toEqual(['resolve', 'resolve'])
  })
})
