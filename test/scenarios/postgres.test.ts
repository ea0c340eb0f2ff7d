import { createTransport, type Transporter } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { moveStorage } from '../../appliance/assembly/storage.ts'
import { loadConfig, type Config } from '../../appliance/config/config.ts'
import type { Timeline } from '../../appliance/api/timeline.ts'
import { createQueueControl } from '../../appliance/queue/queue.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'

import { on } from '../world/behaviour.ts'
import { PATIENCE } from '../world/patience.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'

/** The whole appliance on a real PostgreSQL server. */

let cluster: Cluster
let world: World
let receiver: Receiver
let appliance: TestAppliance

beforeAll(async () => {
  ;[cluster, receiver, world] = await Promise.all([
    startCluster(findPostgresPrograms(), { safe: true }),
    startReceiver(),
    createWorld({
      domains: {
        'good.test': { mx: [{ preference: 10, host: 'mx.good.test' }] },
        'greylisting.test': {
          mx: [
            {
              preference: 10,
              host: 'mx.greylisting.test',
              exchanger: { behave: on('rcpt', '450 4.2.0 Greylisted, come back later', { times: 1 }) },
            },
          ],
        },
        'later.test': {
          mx: [
            {
              preference: 10,
              host: 'mx.later.test',
              exchanger: { behave: on('rcpt', '450 4.2.0 Greylisted, come back later', { times: 1 }) },
            },
          ],
        },
      },
    }),
  ])
  const { smtp, webhooks } = configuration()
  appliance = await startAppliance({
    world,
    config: {
      smtp: { ...smtp, starttls: ['127.0.0.1:0'], implicit_tls: [] },
      storage: await onPostgres(),
      webhooks: { ...webhooks, allow_networks: ['127.0.0.0/8'] },
    },
  })
})

function configuration(): Config {
  const env = { POSTHASTE_HOSTNAME: 'mail.sender.test' }
  const loaded = loadConfig({ env, defaultFile: '/nonexistent' })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  return loaded.config
}

const onPostgres = async (): Promise<Config['storage']> => ({
  ...configuration().storage,
  engine: 'postgres',
  url: await cluster.createDatabase(),
})

afterAll(async () => {
  await appliance?.close()
  await world?.close()
  await receiver?.close()
  await cluster?.close()
})

/** Sends emails by SMTP. Closed by the caller. */
function openTransport(): Transporter {
  const port = Number(appliance.appliance.smtp.starttls[0]!.split(':')[1])
  return createTransport({
    host: '127.0.0.1',
    port,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'posthaste', pass: appliance.apiKey },
  })
}

/** Sends an email by SMTP. Returns the reply to its content, or the code that refused it. */
async function submit(transport: Transporter, subject: string): Promise<string> {
  try {
    const mail = { from: 'App <hello@sender.test>', to: 'ada@good.test', subject, text: 'Hi' }
    return ((await transport.sendMail(mail)) as { response: string }).response
  } catch (error) {
    return (error as { response?: string }).response ?? String(error)
  }
}

const idIn = (reply: string): string | undefined => /Queued as (.+)$/.exec(reply)?.[1]

/** Polls until `read` returns what is expected. */
const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: PATIENCE, interval: 50 })

test('delivers, retries and reports mail from SMTP and the API, even after a restart', async () => {
  const events = ['email.delivered', 'email.delivery_delayed']
  const hook = await appliance.call('POST', '/webhooks', { endpoint: receiver.url, events })
  expect(hook.status).toBe(201)
  const transport = openTransport()
  const viaSmtp = idIn(await submit(transport, 'By SMTP'))!
  transport.close()
  const viaApi = await appliance.send({ to: 'ada@good.test', subject: 'By API' })
  for (const id of [viaSmtp, viaApi])
    expect((await appliance.until(id, isFinal)).deliveries.map(({ state }) => state)).toEqual(['delivered'])
  expect(world.mailboxOf('mx.good.test')).toHaveLength(2)

  const delayed = await appliance.send({ to: 'ada@greylisting.test' })
  await appliance.until(delayed, ({ deliveries }) => deliveries[0]!.attempts === 1)
  await appliance.restart()
  await world.clock.advance(75_000)
  const { deliveries } = await appliance.until(delayed, isFinal)
  expect(deliveries.map(({ state, attempts }) => [state, attempts])).toEqual([['delivered', 2]])
  await receiver.waitFor(4)
  const told = receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type)
  expect(told.toSorted()).toEqual([...Array<string>(3).fill('email.delivered'), 'email.delivery_delayed'])
})

test('a move from SQLite holds queued mail until it is released, then sends it from PostgreSQL', async () => {
  const moved = await startAppliance({ world })
  const by = { kind: 'command', name: 'root', ip: null } as const
  try {
    const id = await moved.send({ to: 'ada@later.test', subject: 'Moved' })
    await moved.until(id, ({ deliveries }) => deliveries[0]!.attempts === 1)
    const target = { ...moved.config, storage: await onPostgres() }
    const options = { by, dryRun: false, onProgress: () => undefined }
    let auditId = ''
    await moved.restart(async () => {
      auditId = (await moveStorage(moved.config, target, options, world.clock.now())).moveId
      Object.assign(moved.config.storage, target.storage)
    })
    const states = ({ deliveries }: Timeline) => deliveries.map(({ state, attempts }) => [state, attempts])
    await world.clock.advance(75_000)
    // New mail is sent as usual, which shows that the dispatcher has run.
    const fresh = await moved.send({ to: 'ada@good.test', subject: 'Fresh' })
    expect(states(await moved.until(fresh, isFinal))).toEqual([['delivered', 1]])
    expect(states(await moved.timeline(id))).toEqual([['held', 1]])

    const { storage } = moved.appliance
    const queue = createQueueControl({ storage, clock: world.clock, wake: () => undefined })
    expect(await queue.undo({ auditId, teamId: undefined }, by)).toMatchObject({ count: 1 })
    await moved.send({ to: 'ada@good.test', subject: 'Wake' })
    expect(states(await moved.until(id, isFinal))).toEqual([['delivered', 2]])
  } finally {
    await moved.close()
  }
})

test('killing the database server under load loses no accepted mail', async () => {
  const transport = openTransport()
  /** IDs by subject. */
  const accepted = new Map<string, string>()
  const refusals = new Set<number | string>()
  const post = async (subject: string): Promise<void> => {
    const email = { from: 'hello@sender.test', to: 'ada@good.test', subject, text: 'Hi' }
    const { status, body } = await appliance.call<{ id: string }>('POST', '/emails', email)
    if (status === 200) accepted.set(subject, body.id)
    else refusals.add(status)
  }
  const send = async (subject: string): Promise<void> => {
    const reply = await submit(transport, subject)
    const id = idIn(reply)
    if (id === undefined) refusals.add(reply.slice(0, 9))
    else accepted.set(subject, id)
  }
  /** Sends without a pause until `isOver`. */
  const traffic = async (one: (subject: string) => Promise<void>, isOver: () => boolean): Promise<void> => {
    while (!isOver()) await one(`Number ${++count}.`)
  }
  let count = 0
  let down = false
  const refused = () => down && refusals.has(503)
  const streams = [post, post, post, post].map((one) => traffic(one, refused))
  const smtp = traffic(send, () => refused() && refusals.has('451 4.3.0'))
  await eventually(() => accepted.size).toBeGreaterThan(20)
  await cluster.kill()
  down = true
  await Promise.all([...streams, smtp])
  transport.close()
  expect([...refusals].toSorted()).toEqual(['451 4.3.0', 503])

  await cluster.start()
  await appliance.until(await sendWhenBack(), isFinal)
  for (const id of accepted.values()) await appliance.until(id, isFinal)
  const arrived = world
    .mailboxOf('mx.good.test')
    .map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw.toString())?.[1])
  expect([...accepted.keys()].filter((subject) => !arrived.includes(subject))).toEqual([])
})

/** Sends an email as soon as the server takes it. Returns its ID. */
async function sendWhenBack(): Promise<string> {
  let id = ''
  await eventually(async () => {
    const email = { from: 'hello@sender.test', to: 'ada@good.test', subject: 'Back', text: 'Hi' }
    const { status, body } = await appliance.call<{ id: string }>('POST', '/emails', email)
    if (status === 200) id = body.id
    return status
  }).toBe(200)
  return id
}
