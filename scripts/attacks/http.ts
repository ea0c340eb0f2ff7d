/** Attacks on HTTP: endless connections and bodies, bodies that cost more than their size, and live streams. */
import type { AttackSet } from './catalog.ts'
import type { HostileClient, AttackConnection } from './hostile.ts'

const MB = 1024 * 1024
/** The shipped `limits.message_bytes`. */
const LIMIT = 40 * MB

/** Returns the head of a request with a JSON body. */
export function buildPostHead(path: string, key: string | null, length: number | 'chunked'): string {
  return [
    `POST ${path} HTTP/1.1`,
    'Host: mail.sender.example',
    'Content-Type: application/json',
    length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    '',
    '',
  ].join('\r\n')
}

/** Reads the whole response, or waits until the connection ends. */
const answered = (wire: AttackConnection): Promise<boolean> =>
  wire.hear(/^HTTP\/1\.1 \d{3}[^]*?\r\n\r\n/m, 60_000)

/** Sends bodies of one shape repeatedly, three at once. */
function bodies(path: string, head: string, piece: string, times: number, tail: string) {
  return (hostile: HostileClient): Promise<void> =>
    hostile.swarm(3, async () => {
      const wire = await hostile.open(hostile.target.http)
      if (!wire) return
      const length = head.length + piece.length * times + tail.length
      await wire.say(buildPostHead(path, hostile.team.key, length) + head)
      await wire.repeat(piece, times)
      await wire.say(tail)
      await answered(wire)
      wire.close()
    })
}

const EMAIL = '"to":"ada@customer.example","subject":"x","from":"'

export const HTTP_ATTACKS: AttackSet = {
  'http-headers': {
    what: '3,000 connections that never finish their header',
    run: (hostile) =>
      hostile.swarm(1500, async () => {
        const wire = await hostile.open(hostile.target.http, { deaf: true })
        if (!wire) return
        await wire.say('GET /emails HTTP/1.1\r\nHost: mail.sender.example\r\nX-A: ')
        await hostile.hold(wire)
      }),
  },
  'stranger-bodies': {
    what: '10,400 unfinished POST /session bodies',
    run: (hostile) =>
      hostile.swarm(5200, async () => {
        const wire = await hostile.open(hostile.target.http, { deaf: true })
        if (!wire) return
        await wire.say(`${buildPostHead('/session', null, 16_000)}{"email":"${'x'.repeat(15_000)}`)
        await hostile.hold(wire)
      }),
  },
  'key-bodies': {
    what: '40 unfinished bodies of 40 MB of one key',
    run: (hostile) =>
      hostile.swarm(20, async () => {
        const wire = await hostile.open(hostile.target.http)
        if (!wire) return
        await wire.say(`${buildPostHead('/emails', hostile.team.key, LIMIT)}{"html":"`)
        await wire.repeat('x', 8 * MB)
        await hostile.hold(wire)
      }),
  },
  'json-objects': {
    what: 'Three bodies at once of 14 million objects',
    run: bodies('/emails', '[', '{},', 14 * MB, '{}]'),
  },
  'json-headers': {
    what: '31 MB of names in headers',
    run: bodies('/emails', '{"headers":{', '"x-a":"b",', 3.1 * MB, '"z":""}}'),
  },
  'json-brackets': { what: '40 MB of [', run: bodies('/emails', '', '[', LIMIT, '') },
  'json-large': {
    what: 'Valid emails with 28 MB of attachment',
    run: (hostile) =>
      bodies(
        '/emails',
        `{${EMAIL}app@${hostile.team.domain}","text":"x","attachments":[{"filename":"a","content":"`,
        'AAAA',
        7 * MB,
        '"}]}',
      )(hostile),
  },
  'html-large': {
    what: 'Emails with 8 MB of html, of which the text is made',
    run: (hostile) =>
      bodies(
        '/emails',
        `{${EMAIL}app@${hostile.team.domain}","html":"`,
        '<p>Hello</p>',
        650_000,
        '"}',
      )(hostile),
  },
  'csv-line': {
    what: 'A CSV list of 40 MB in one line',
    run: bodies('/suppressions/import', '{"csv":"', ',', LIMIT - 100, '"}'),
  },
  'csv-cells': {
    what: 'CSV lists of 8 MB',
    run: bodies('/suppressions/import', '{"csv":"', 'ada@example.com,b,c\\n', 90_000, '"}'),
  },
  'live-streams': {
    what: '1,000 live streams of one key',
    run: (hostile) =>
      hostile.swarm(500, async () => {
        const wire = await hostile.open(hostile.target.http)
        if (!wire) return
        await wire.say(
          `GET /live HTTP/1.1\r\nHost: mail.sender.example\r\nAuthorization: Bearer ${hostile.team.key}\r\n\r\n`,
        )
        await hostile.hold(wire)
      }),
  },
}
