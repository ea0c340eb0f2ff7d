import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { createTestClock } from '../../world/clock.ts'
import { startDoor } from './harness.ts'

/** Gives the server time to read what has arrived. */
const breath = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('setting the clock forward does not time out a message in progress or its session', async () => {
  // Timeouts use the monotonic clock, which nobody sets.
  const clock = { ...createTestClock(), steady: () => performance.now() }
  const door = await startDoor({ clock })
  const socket = connect(door.ports.trusted, '127.0.0.1')
  let heard = ''
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')))
  const say = async (text: string, reply: RegExp): Promise<void> => {
    heard = ''
    socket.write(text)
    await expect.poll(() => heard, { timeout: 20_000 }).toMatch(reply)
  }
  try {
    await once(socket, 'connect')
    await say('EHLO app.example\r\n', /^250 /m)
    await say('MAIL FROM:<app@acme.example>\r\n', /^250 /m)
    await say('RCPT TO:<ada@customer.example>\r\n', /^250 /m)
    await say('DATA\r\n', /^354 /m)
    socket.write('From: app@acme.example\r\n')
    await breath()
    await clock.advance(86_400_000)
    socket.write('Subject: Hello\r\n\r\n')
    await breath()
    await say('Hello\r\n.\r\n', /^250 2\.0\.0 Queued as /m)
    await say('NOOP\r\n', /^250 2\.0\.0 /m)
    expect(await door.emails()).toHaveLength(1)
  } finally {
    socket.destroy()
    await door.close()
  }
})
