import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import type { Domain } from '../../appliance/api/domains.ts'
import { freeAddress } from '../world/addresses.ts'
import { publishRecords } from '../world/domains.ts'
import { createWorld, type World } from '../world/world.ts'
import type { Machine } from './machine.ts'

/** Who installs an appliance, configures it and sends with it. */

/** A small internet: one recipient domain, DNS where a daemon looks for it. */
export const internet = (): Promise<World> =>
  createWorld({
    domains: { 'customer.test': { mx: [{ preference: 10, host: 'mx.customer.test' }] } },
    names: { 'mail.example.com': { A: ['192.0.2.25'] } },
    dnsPort: 53,
  })

/** Appends to the configuration what this machine is, on an address of its own and at the usual ports. */
export function configure(root: string, world: World): string {
  const address = freeAddress()
  const settings = `
hostname = "mail.example.com"
[http]
listen = ["${address}:8025"]
[smtp]
starttls = ["${address}:25", "${address}:587"]
implicit_tls = ["${address}:465"]
[dns]
servers = ["${world.dnsServers[0]}"]
[delivery]
port = ${world.deliveryPort}
allow_networks = ["127.0.0.0/8"]
[limits]
rate_per_second = 1000
`
  appendFileSync(join(root, 'etc/posthaste/posthaste.toml'), settings)
  return address
}

/** The commands that README.md gives to one who has installed the package. */
function readmeCommands(): string[] {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
  const [, production] = readme.split('## In production')
  const [, block] = [...production!.matchAll(/^```sh\n(.*?)^```/gms)]
  return block![1]!.trim().split('\n')
}

/** Goes the way of README.md, as written, from a hostname to a key; publishes the records that it is shown. */
export async function setUp(machine: Machine, world: World): Promise<string> {
  let said = ''
  for (const command of readmeCommands()) {
    said = await machine.run('sh', '-c', command)
    if (!command.includes('domain add')) continue
    const shown = await machine.run('posthaste', 'domain', 'show', 'example.com', '--json')
    publishRecords(world, (JSON.parse(shown) as Domain).records)
  }
  const [key] = /re_\w+/.exec(said) ?? []
  if (key === undefined) throw new Error(`the last command of README.md printed no key: ${said}`)
  return key
}

/** Sends over REST; resolves with the email's id. */
export async function send(address: string, key: string, to: string): Promise<string> {
  const response = await fetch(`http://${address}:8025/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'hello@example.com', to, subject: 'Kept', text: 'Still here?' }),
  })
  const body = (await response.json()) as { id: string }
  if (response.status !== 200) throw new Error(JSON.stringify(body))
  return body.id
}

/** Sends by SMTP submission at port 587 with STARTTLS. */
export async function submit(address: string, key: string, to: string): Promise<void> {
  const transport = createTransport({
    host: address,
    port: 587,
    requireTLS: true,
    auth: { user: 'posthaste', pass: key },
    // The certificate that the appliance made itself.
    tls: { rejectUnauthorized: false },
  })
  await transport.sendMail({ from: 'hello@example.com', to, subject: 'By SMTP', text: 'Hello.' })
  transport.close()
}

/** What became of an email. */
export async function lastEvent(address: string, key: string, id: string): Promise<string> {
  const response = await fetch(`http://${address}:8025/emails/${id}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  return ((await response.json()) as { last_event: string }).last_event
}
