import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDoor, type Door } from '../unit/smtp/harness.ts'
import { freeAddress } from '../world/addresses.ts'
import { startSmarthostClient, type Route } from '../world/postfix-smarthost.ts'
import { clients } from './clients.ts'

/** Tests the actual ports of a default configuration, on a loopback address of their own. */
const PORTS = [
  { how: 'starttls', port: 25 },
  { how: 'starttls', port: 587 },
  { how: 'starttls', port: 2587 },
  { how: 'implicit', port: 465 },
  { how: 'implicit', port: 2465 },
] as const

const host = freeAddress()
/** Ports below 1024 require root, or permission from the system (net.ipv4.ip_unprivileged_port_start). */
const allowed = await mayBind(25)
const accepted = /250 2\.0\.0 Queued as [\da-f-]{36}/
const programs: Record<string, string> = {
  swaks: 'swaks',
  curl: 'curl',
  msmtp: 'msmtp',
  "Python's smtplib": '/usr/bin/python3',
}
const missing = (name: string) => name in programs && spawnSync(programs[name]!, ['--version']).status !== 0

async function mayBind(port: number): Promise<boolean> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
    return true
  } catch {
    return false // EACCES: this user may not; the test says that it was skipped
  } finally {
    server.close()
  }
}

describe.skipIf(!allowed)('on the ports 25, 587, 2587, 465 and 2465 (needs the right to bind them)', () => {
  let door: Door
  beforeAll(async () => {
    door = await startDoor({ config: { mxPort: 25 } })
    const bound = await door.server.listen(
      PORTS.map(({ how, port }) => ({
        address: `${host}:${port}`,
        kind: { name: how === 'implicit' ? 'implicit_tls' : 'starttls' },
      })),
    )
    expect(bound).toEqual(PORTS.map(({ port }) => `${host}:${port}`))
  })
  afterAll(() => door?.close())

  test.for(Object.entries(clients))('%s sends an email', async ([name, send], { skip }) => {
    skip(missing(name), `${name} is not installed`)
    for (const { how, port } of PORTS) {
      const { ok, text } = await send({ host, how, port, key: door.keys.sending })
      expect({ port, ok, text }).toEqual({ port, ok: true, text: expect.stringMatching(accepted) as string })
    }
  })

  test.runIf(process.getuid?.() === 0)('Postfix sends to its smarthost (needs root)', async () => {
    const starttls = {
      smtp_sasl_auth_enable: 'yes',
      smtp_sasl_password_maps: `static:posthaste:${door.keys.sending}`,
      smtp_tls_security_level: 'encrypt',
    }
    const implicit = { ...starttls, smtp_tls_wrappermode: 'yes' }
    const route = ({ how, port }: (typeof PORTS)[number]): [string, Route] => [
      `port-${port}.test`,
      { host, port, settings: how === 'implicit' ? implicit : starttls },
    ]
    const postfix = await startSmarthostClient(Object.fromEntries(PORTS.map(route)))
    const transport = createTransport({ host: postfix.address, port: 25, ignoreTLS: true })
    try {
      const to = PORTS.map(({ port }) => `ada@port-${port}.test`)
      const from = 'app@acme.example'
      await transport.sendMail({ from, to: to[0]!, subject: 'Hello', text: 'Hi', envelope: { from, to } })
      const taken: unknown = expect.stringMatching(/^sent \(250 2\.0\.0 Queued as [\da-f-]{36}\)$/)
      expect(await postfix.outcomes(to)).toEqual(to.map(() => taken))
    } finally {
      transport.close()
      await postfix.close()
    }
  })

  test('without sign-in, port 25 replies 554 5.7.1 and the others reply 530 5.7.0', async () => {
    for (const { port } of PORTS.slice(0, 3)) {
      const transport = createTransport({ host, port, tls: { rejectUnauthorized: false } })
      const mail = { from: 'app@acme.example', to: 'ada@customer.example', text: 'Hi' }
      await expect(transport.sendMail(mail)).rejects.toThrow(
        port === 25 ? /554 5\.7\.1 Relay/ : /530 5\.7\.0 Authentication required/,
      )
      transport.close()
    }
  })
})
