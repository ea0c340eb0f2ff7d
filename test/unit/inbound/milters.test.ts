import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createMilters } from '../../../appliance/inbound/public-mx.ts'
import { pingMilter, evaluateMilter } from '../../../appliance/insights/spam-filter.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { createTestClock } from '../../world/clock.ts'
import { number, type Said, type Script, startMilter as startScripted } from '../../world/milter.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function startMilter(script: Script, path?: string) {
  const milter = await startScripted(script, path)
  closing.push(milter.close)
  return milter
}

function open(milters: string[], unavailable: 'accept' | 'defer' = 'accept') {
  const counted: string[] = []
  const clock = createTestClock()
  const count = (milter: string, result: string) => void counted.push(`${milters.indexOf(milter)} ${result}`)
  const none = { kind: 'absent', why: 'nxdomain', ttl: 60, authentic: false } as never
  const resolver = { resolve: () => Promise.resolve(none) }
  const deps = {
    milters,
    unavailable,
    hostname: 'mx.in.example',
    resolver,
    clock,
    log: createSilentLogger(),
    count,
  }
  return { counted, clock, filter: createMilters(deps) }
}

const MESSAGE = {
  bytes: Buffer.from('Subject: a\r\n b\r\nX-Old: \xe4\r\n\r\nHello\r\n', 'latin1'),
  mailFrom: 'ada@x.example',
  ip: '192.0.2.7',
  helo: 'mx.x.example',
  recipients: [{ address: 'a@in.example' }, { address: 'b@in.example' }],
}
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')

describe('a milter', () => {
  test('a milter receives the envelope, each field, the body and the common macros', async () => {
    const { address, heard } = await startMilter({})
    const { filter, counted } = open([address])
    expect(await filter.filter(MESSAGE)).toEqual({ bytes: MESSAGE.bytes, quarantined: null })
    expect(counted).toEqual(['0 accepted'])
    await expect.poll(() => heard.at(-1)).toEqual(['Q', ''])
    const macros = heard.filter(([letter]) => letter === 'D').map(([, data]) => data)
    expect(macros[0]).toMatch(/^Cj\0mx\.in\.example\0i\0[\da-f-]{36}\0\{client_addr\}\x00192\.0\.2\.7\0/)
    expect(heard.filter(([letter]) => letter !== 'D')).toEqual([
      ['O', number(6) + number(0x31) + number(0x1df6ff)],
      ['C', '[192.0.2.7]\x004\0\x00192.0.2.7\0'],
      ['H', 'mx.x.example\0'],
      ['M', '<ada@x.example>\0'],
      ['R', '<a@in.example>\0'],
      ['R', '<b@in.example>\0'],
      ['T', ''],
      ['L', 'Subject\0a\n b\0'],
      ['L', 'X-Old\0\xe4\0'],
      ['N', ''],
      ['B', 'Hello\r\n'],
      ['E', ''],
      ['Q', ''],
    ])
  })

  test('a milter is not sent steps it opted out of, nor waited for at steps without a reply', async () => {
    // Without connection, HELO and body; no reply to MAIL, RCPT, fields and the end of the header.
    const steps = 0x01 | 0x02 | 0x10 | 0x4000 | 0x8000 | 0x80 | 0x40000
    const quiet = Object.fromEntries([...'MRLN'].map((letter) => [letter, [] as Said[]]))
    const { address, heard } = await startMilter({
      greeting: ['O', number(6) + number(0) + number(steps)],
      answers: quiet,
    })
    expect((await open([address]).filter.filter(MESSAGE)).quarantined).toBe(null)
    await expect.poll(() => heard.map(([letter]) => letter).join('')).toBe('ODDMDRDRDTLLNDEQ')
  })

  test.each<[string, Said, string]>([
    ['reject', ['r', ''], '554 5.7.1'],
    ['discard', ['d', ''], '554 5.7.1'],
    ['a custom reply', ['y', '550 5.7.1 Go away\0'], '554 5.7.1'],
    ['a temporary failure', ['t', ''], '451 4.7.1'],
    ['a custom temporary reply', ['y', '451 4.7.1 Come again\0'], '451 4.7.1'],
  ])('a milter can reject a message with %s at any step', async (_, answer, expected) => {
    for (const letter of 'CHMRTLNBE') {
      const { address } = await startMilter({ answers: { [letter]: [['p', ''], answer] } })
      await expect(open([address]).filter.filter(MESSAGE)).rejects.toMatchObject({ smtp: expected })
    }
  })

  test('a milter adds, inserts, changes and removes fields, and the next milter sees the changes', async () => {
    const first = await startMilter({
      answers: {
        E: [
          ['h', 'X-Last\0end\n of it\0'],
          ['i', `${number(0)}X-First\0start\0`],
          ['m', `${number(1)}SUBJECT\0new\0`],
          ['m', `${number(1)}X-Old\0\0`],
          ['m', `${number(2)}X-Last\0more\0`],
          ['c', ''],
        ],
      },
    })
    const second = await startMilter({
      answers: {
        E: [
          ['h', 'X-Second\0yes\0'],
          ['a', ''],
        ],
      },
    })
    const { bytes } = await open([first.address, second.address]).filter.filter(MESSAGE)
    expect(textOf(bytes)).toBe(
      'X-First: start\r\nSUBJECT: new\r\nX-Last: end\r\n of it\r\nX-Last: more\r\nX-Second: yes\r\n\r\nHello\r\n',
    )
    const seen = second.heard.flatMap(([letter, data]) => (letter === 'L' ? [data.split('\0')[0]] : []))
    expect(seen).toEqual(['X-First', 'SUBJECT', 'X-Last', 'X-Last'])
  })

  test('a milter quarantines a message, over a Unix socket', async () => {
    const path = join(tmpdir(), `posthaste-milter-${process.pid}.sock`)
    closing.push(() => rm(path, { force: true }))
    const { address } = await startMilter(
      {
        answers: {
          E: [
            ['q', 'looks odd\0'],
            ['c', ''],
          ],
        },
      },
      path,
    )
    const { filter, counted } = open([address])
    expect((await filter.filter(MESSAGE)).quarantined).toBe('looks odd')
    expect(counted).toEqual(['0 quarantined'])
  })

  test.each<[string, Script]>([
    ['asks to change bodies', { greeting: ['O', number(6) + number(0x02) + number(0)] }],
    ['speaks another protocol', { greeting: ['2', '20 mx ESMTP\r\n'] }],
    [
      'changes a body without permission',
      {
        answers: {
          E: [
            ['b', 'x'],
            ['c', ''],
          ],
        },
      },
    ],
    [
      'adds a field that breaks the header',
      {
        answers: {
          E: [
            ['h', 'X-A\0b\nBcc: c\0'],
            ['c', ''],
          ],
        },
      },
    ],
    [
      'adds a field with an invalid name',
      {
        answers: {
          E: [
            ['h', 'X A\0b\0'],
            ['c', ''],
          ],
        },
      },
    ],
    [
      'adds too many fields',
      { answers: { E: [...Array.from({ length: 201 }, (): Said => ['h', 'X-A\0b\0']), ['c', '']] } },
    ],
    ['sends a packet that is too large', { answers: { E: [['h', 'x'.repeat(200_000)]] } }],
    ['replies with a success code', { answers: { M: [['y', '250 Ok\0']] } }],
  ])('a milter that %s is ignored, or defers mail if so configured', async (_, script) => {
    const { address } = await startMilter(script)
    const { filter, counted } = open([address])
    expect(await filter.filter(MESSAGE)).toEqual({ bytes: MESSAGE.bytes, quarantined: null })
    expect(counted).toEqual(['0 failed'])
    await expect(open([address], 'defer').filter.filter(MESSAGE)).rejects.toMatchObject({
      key: 'inbound_unjudged',
    })
  })

  test('a milter that never answers times out after 30 seconds', async () => {
    const { address, heard } = await startMilter({ answers: { E: [['p', '']] } })
    const { filter, clock, counted } = open([address])
    const filtered = filter.filter(MESSAGE)
    await expect.poll(() => heard.at(-1)?.[0]).toBe('E')
    await clock.advance(30_000)
    expect((await filtered).bytes).toBe(MESSAGE.bytes)
    expect(counted).toEqual(['0 failed'])
  })

  test('the doctor checks a milter', async () => {
    const { address } = await startMilter({})
    const about = { milter: address, unavailable: 'defer' as const }
    expect(evaluateMilter(await pingMilter(address), about)).toMatchObject({
      id: `milter:${address}`,
      status: 'ok',
    })
    const nobody = { milter: 'unix:/nowhere.sock', unavailable: 'defer' as const }
    expect(evaluateMilter(await pingMilter(nobody.milter), nobody)).toMatchObject({
      status: 'failed',
      found:
        "The milter at unix:/nowhere.sock can't be asked (ENOENT). Mail to receiving domains is refused temporarily.",
    })
  })
})
