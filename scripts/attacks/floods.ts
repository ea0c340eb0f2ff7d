/** Floods: as many connections, requests, commands and sign-ins as possible, and oversized input of all kinds. */
import type { AttackSet } from './catalog.ts'
import type { HostileClient } from './hostile.ts'
import { buildPostHead } from './http.ts'

const MB = 1024 * 1024
/** Number of concurrent connections per attacker. */
const AT_ONCE = 50

const HOST = 'Host: mail.sender.example\r\n'

/** Sends pipelined blocks of one kind of request until each connection is closed. */
function requests(request: (hostile: HostileClient) => string) {
  return (hostile: HostileClient): Promise<void> =>
    hostile.swarm(AT_ONCE, async () => {
      const wire = await hostile.open(hostile.target.http)
      if (!wire) return
      const block = request(hostile).repeat(20)
      while (wire.open && !hostile.over) {
        await wire.say(block)
        if (!(await wire.hear(/HTTP\/1\.1 /, 5000))) break
        wire.heard = ''
      }
      wire.close()
    })
}

/** Returns a key with the given prefix that doesn't exist. */
const wrongKey = (key: string, n: number): string =>
  `${key.slice(0, 12)}${`${n}`.padStart(key.length - 12, 'x')}`

export const FLOOD_ATTACKS: AttackSet = {
  'flood-connections': {
    what: 'Connections to all listeners, closed at once',
    run: (hostile) =>
      hostile.swarm(AT_ONCE, async (n) => {
        const { http, https, starttls, implicit } = hostile.target
        const wire = await hostile.open([http, https, starttls, implicit][n % 4]!)
        wire?.close()
      }),
  },
  'flood-handshakes': {
    what: 'TLS handshakes on HTTPS and SMTPS',
    run: (hostile) =>
      hostile.swarm(AT_ONCE, async (n) => {
        const { https, implicit } = hostile.target
        const wire = await hostile.open([https, implicit][n % 2]!, { tls: true })
        wire?.close()
      }),
  },
  'flood-requests': {
    what: 'Pipelined requests without a key',
    run: requests(() => `GET /emails HTTP/1.1\r\n${HOST}\r\n`),
  },
  'flood-key-requests': {
    what: 'Pipelined requests with a key, beyond its rate',
    run: requests(({ team }) => `GET /emails HTTP/1.1\r\n${HOST}Authorization: Bearer ${team.key}\r\n\r\n`),
  },
  'flood-nonsense': { what: 'What is not HTTP', run: requests(() => 'NONSENSE\r\n\r\n') },
  'flood-commands': {
    what: 'Pipelined SMTP commands',
    run: (hostile) =>
      hostile.swarm(AT_ONCE, async () => {
        const wire = await hostile.open(hostile.target.starttls)
        if (!wire) return
        while (wire.open && !hostile.over) {
          await wire.say('NOOP\r\nRSET\r\nHELP\r\nEHLO attacker.example\r\n'.repeat(50))
          if (!(await wire.hear(/\r\n/, 5000))) break
          wire.heard = ''
        }
        wire.close()
      }),
  },
  'flood-messages': {
    what: 'Small messages of one key, as many as go',
    run: (hostile) =>
      hostile.swarm(10, async () => {
        const wire = await hostile.signedIn()
        if (!wire) return
        const message = `From: app@${hostile.team.domain}\r\nSubject: x\r\n\r\nHello\r\n.\r\n`
        while (wire.open && !hostile.over && (await hostile.begin(wire))) {
          await wire.say(message)
          if (!(await wire.hear(/^\d{3} .*\r\n/m))) break
        }
        wire.close()
      }),
  },
  'flood-sign-ins': {
    what: 'Sign-ins to the dashboard with wrong passwords',
    run: (hostile) => {
      const body = '{"email":"owner@customer.test","password":"not the right one"}'
      const fields = 'X-Requested-With: dashboard\r\nSec-Fetch-Site: same-origin\r\n\r\n'
      const request = buildPostHead('/session', null, body.length).replace(/\r\n$/, fields)
      return requests(() => request + body)(hostile)
    },
  },
  'flood-wrong-keys': {
    what: "Wrong keys with the customer's prefix, HTTP and SMTP",
    run: async (hostile) => {
      const { customer, implicit } = hostile.target
      let tries = 0
      await Promise.all([
        requests(
          () =>
            `GET /emails HTTP/1.1\r\n${HOST}Authorization: Bearer ${wrongKey(customer.key, tries++)}\r\n\r\n`,
        )(hostile),
        hostile.swarm(AT_ONCE, async () => {
          const wire = await hostile.open(implicit, { tls: true })
          if (!wire || !(await wire.hear(/^220 .*\r\n/))) return
          const plain = Buffer.from(`\0posthaste\0${wrongKey(customer.key, tries++)}`).toString('base64')
          await wire.say(`EHLO attacker.example\r\nAUTH PLAIN ${plain}\r\n`)
          await wire.hear(/^[45]\d\d .*\r\n/m)
          wire.close()
        }),
      ])
    },
  },
  oversized: {
    what: 'Targets, header fields, bodies, command lines, recipients and chunks beyond every limit',
    run: (hostile) => hostile.swarm(OVERSIZED.length * 5, (n) => OVERSIZED[n % OVERSIZED.length]!(hostile)),
  },
}

/** Oversized input of each kind, sent as fast as the daemon accepts it. */
const OVERSIZED: ((hostile: HostileClient) => Promise<void>)[] = [
  (hostile) => say(hostile, 'http', 'GET /', 'a', MB),
  (hostile) => say(hostile, 'http', `GET / HTTP/1.1\r\n${HOST}`, 'X-A: b\r\n', MB),
  (hostile) => say(hostile, 'http', `GET / HTTP/1.1\r\n${HOST}X-A: `, 'b', MB),
  (hostile) => say(hostile, 'http', buildPostHead('/emails', hostile.team.key, 10 ** 12), 'x', 50 * MB),
  (hostile) =>
    say(hostile, 'http', buildPostHead('/emails', hostile.team.key, 'chunked'), '1;a=b\r\n{\r\n', MB),
  (hostile) => say(hostile, 'http', buildPostHead('/session', null, 'chunked'), 'ffff\r\n', MB),
  (hostile) => say(hostile, 'starttls', 'EHLO ', 'a', 10 * MB),
  (hostile) => say(hostile, 'starttls', '', '\u00ff\u0000', 5 * MB),
  (hostile) =>
    say(
      hostile,
      'trusted',
      `EHLO a\r\nMAIL FROM:<app@${hostile.target.attackers[0].domain}>\r\n`,
      'RCPT TO:<ada@customer.example>\r\n',
      20_000,
    ),
  (hostile) =>
    say(
      hostile,
      'trusted',
      `EHLO a\r\nMAIL FROM:<app@${hostile.target.attackers[0].domain}>\r\nRCPT TO:<ada@customer.example>\r\n`,
      `BDAT 70000000\r\n${'x'.repeat(1000)}`,
      70_000,
    ),
]

/** Connects, sends something very large, and waits until the connection closes. */
async function say(
  hostile: HostileClient,
  listener: 'http' | 'starttls' | 'trusted',
  before: string,
  piece: string,
  times: number,
): Promise<void> {
  const wire = await hostile.open(hostile.target[listener])
  if (!wire) return
  await wire.say(before)
  await wire.repeat(piece, times)
  await wire.hear(/never said/, 2000)
  wire.close()
}
