import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { freeAddress, likelyFreePort } from '../../world/addresses.ts'
import { createTestClock } from '../../world/clock.ts'
import { dialog, type ScriptStep } from '../../world/scripted.ts'
import { minute, noteOf, serve, talk, upTo } from './talk.ts'

describe('a connection that breaks', () => {
  test('a refused connection is a network failure at connect', async () => {
    const said = await talk({ address: freeAddress(), port: likelyFreePort() })
    expect(said.fates['bob@example.org']).toBe('network connect')
    expect(noteOf(said)).toBe('mx.self-signed.test refuses connections.')
  })

  test.each([
    [
      'before the greeting',
      'S: <close>',
      'network greeting',
      /closed the connection \(waiting for its greeting\)/,
    ],
    [
      'after EHLO',
      'S: 220 mx\n C: EHLO *\n S: <reset>',
      'network ehlo',
      /reset the connection \(waiting for the reply to EHLO\)/,
    ],
    [
      'in an unfinished reply',
      'S: 220 mx\n C: EHLO *\n S: 250-mx\n S: <close>',
      'network ehlo',
      /closed the connection/,
    ],
    ['at DATA', `${upTo('S: 354')} S: <close>`, 'network data', /waiting for the reply to DATA/],
    [
      'after the final dot',
      `${upTo('S: 250 2.0.0')} S: <close>`,
      'network body',
      /after the whole message was sent: it may have been delivered/,
    ],
  ])('a connection that breaks %s is a network failure', async (_, script, fate, note) => {
    const said = await talk(await serve(script))
    expect(said.fates['bob@example.org']).toBe(fate)
    expect(noteOf(said)).toMatch(note)
  })

  test('a connection that breaks in the middle of the body is a network failure', async () => {
    const server = await serve([...dialog(upTo('C: <body>')), { expect: /^x+$/ }, { close: 'reset' }])
    const said = await talk(server, { message: Buffer.alloc(30_000_000, 'x'.repeat(70) + '\r\n') })
    expect(said.fates['bob@example.org']).toBe('network body')
    expect(noteOf(said)).toContain('while sending the message')
  })
})

describe('servers that do not speak SMTP', () => {
  test.each([
    ['another protocol', [{ send: 'HTTP/1.1 400 Bad Request\r\n\r\n' }], 'protocol greeting'],
    ['ten megabytes without a line end', [{ send: Buffer.alloc(10_000_000, 'x') }], 'protocol greeting'],
    ['a reply of ten megabytes', [{ send: Buffer.from('220-x\r\n'.repeat(1_400_000)) }], 'protocol greeting'],
    [
      'endless blank lines',
      [...dialog('S: 220 mx\n C: EHLO *'), { send: Buffer.alloc(5_000_000, '\r\n') }],
      'protocol ehlo',
    ],
    ['a greeting with code 250', dialog('S: 250 hello\n C: QUIT'), 'protocol greeting 250 hello'],
  ] as [string, ScriptStep[], string][])(
    'fail the attempt without a long transcript: %s',
    async (_, script, fate) => {
      const said = await talk(await serve(script))
      expect(said.fates['bob@example.org']).toBe(fate)
      expect(JSON.stringify(said.steps).length).toBeLessThan(20_000)
    },
  )

  test('ignores an acceptance before the whole message was sent', async () => {
    const server = await serve([...dialog(upTo('S: 354')), { send: '354 go\r\n250 queued\r\n' }])
    const said = await talk(server, { message: Buffer.alloc(20_000_000, 'x'.repeat(70) + '\r\n') })
    expect(said.fates['bob@example.org']).toBe('protocol body')
  })

  test('a refusal before the whole message was sent is the outcome', async () => {
    const server = await serve([...dialog(upTo('S: 354')), { send: '354 go\r\n552 5.3.4 too much\r\n' }])
    const said = await talk(server, { message: Buffer.alloc(20_000_000, 'x'.repeat(70) + '\r\n') })
    expect(said.fates['bob@example.org']).toBe('reply body 552 5.3.4 too much')
  })
})

describe('slow servers', () => {
  test.each([
    ['the greeting', '', 5, 'timeout greeting'],
    ['EHLO', upTo('S: 250 mx'), 5, 'timeout ehlo'],
    ['MAIL', upTo('S: 250 2.1.0'), 5, 'timeout mail'],
    ['RCPT', upTo('S: 250 2.1.5'), 5, 'timeout rcpt'],
    ['DATA', upTo('S: 354'), 2, 'timeout data'],
    ['the final dot', upTo('S: 250 2.0.0'), 10, 'timeout body'],
  ])(
    'a slow server times out at %s after the minutes given in RFC 5321',
    async (_, script, minutes, fate) => {
      const clock = createTestClock()
      const server = await serve(script)
      const talking = talk(server, { clock })
      await expect.poll(() => server.connections[0]?.complete).toBe(true)
      let done = false
      void talking.then(() => (done = true))
      await clock.advance(minutes * minute - 2000)
      expect(done).toBe(false)
      // If the last reply arrives while the clock advances, the timeout started later.
      const over = async () => {
        await clock.advance(2000)
        return done
      }
      await expect.poll(over).toBe(true)
      const said = await talking
      expect(said.fates['bob@example.org']).toBe(fate)
      expect(noteOf(said)).toContain(`did not reply within ${minutes * 60} seconds`)
      expect(said.steps.at(-1)!.ms).toBeGreaterThanOrEqual(minutes * minute - 5)
    },
  )

  test('a server that does not read the body times out after three minutes', async () => {
    const clock = createTestClock()
    let heard = () => 0
    const server = createServer((socket) => {
      heard = () => socket.bytesRead
      socket.on('error', () => undefined)
      socket.write('220 mx\r\n250 mx\r\n250 ok\r\n250 ok\r\n354 go\r\n')
      // Without a data listener, nothing is read, and the TCP windows fill up.
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const talking = talk(
      { address: '127.0.0.1', port },
      { clock, message: Buffer.alloc(60_000_000, 'x'.repeat(70) + '\r\n') },
    )
    let done = false
    void talking.then(() => (done = true))
    // More than all its commands: the body is being sent.
    await expect.poll(() => heard()).toBeGreaterThan(10_000)
    const over = async () => {
      await clock.advance(3 * minute)
      return done
    }
    await expect.poll(over).toBe(true)
    const said = await talking
    server.close()
    expect(said.fates['bob@example.org']).toBe('timeout body')
    expect(noteOf(said)).toContain('did not reply within 180 seconds (while sending the message)')
  })

  test('a slow server times out at the end of the attempt', async () => {
    const clock = createTestClock()
    const server = await serve('')
    const talking = talk(server, { clock, within: minute })
    await expect.poll(() => server.connections[0]?.complete).toBe(true)
    await clock.advance(minute)
    expect((await talking).fates['bob@example.org']).toBe('timeout greeting')
  })

  test('a server gets ten minutes to answer the final dot, even past the end of the attempt, to avoid duplicates', async () => {
    const clock = createTestClock()
    let waits = 0
    const watched = {
      ...clock,
      after(ms: number, callback: () => void) {
        waits = ms
        return clock.after(ms, callback)
      },
    }
    const server = await serve(upTo('S: 250 2.0.0'))
    let done = false
    const talking = talk(server, { clock: watched, within: minute }).finally(() => (done = true))
    await expect.poll(() => waits, { timeout: 20_000 }).toBeGreaterThan(9 * minute)
    await clock.advance(9 * minute)
    expect(done).toBe(false)
    await clock.advance(minute)
    const said = await talking
    expect(said.fates['bob@example.org']).toBe('timeout body')
    expect(noteOf(said)).toContain('did not reply within 600 seconds (after the whole message was sent')
  })
})
