import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { computeDigest, startExchangers } from '../../../appliance/crashtest/exchanger.ts'
import { createLedger } from '../../../appliance/crashtest/ledger.ts'

/** Delivers one message with this text to an exchanger. Returns whether it was intact. */
async function deliver(text: string, digest: string): Promise<boolean> {
  const ledger = createLedger()
  const accepted: string[][] = []
  const exchangers = await startExchangers({
    ledger,
    now: () => 0,
    run: () => 1,
    thinkMs: () => 0,
    accepted: (...about) => void accepted.push(about),
  })
  const socket = connect(exchangers.port, '127.0.0.1')
  try {
    let heard = ''
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')))
    await once(socket, 'connect')
    const header = ['Message-ID: <m@sender.test>', 'X-Crashtest: r1', `X-Crashtest-Digest: ${digest}`]
    const commands = ['EHLO client.test', 'MAIL FROM:<a@sender.test>', 'RCPT TO:<b@crash1.test>', 'DATA']
    socket.write([...commands, ...header, '', text, '.', ''].join('\r\n'))
    await expect.poll(() => heard, { timeout: 20_000 }).toContain('250 2.0.0 Taken')
    expect(ledger.copies).toHaveLength(1)
    expect(accepted).toEqual([['b@crash1.test', 'a@sender.test']])
    return ledger.copies[0]!.whole
  } finally {
    socket.destroy()
    await exchangers.close()
  }
}

const digest = computeDigest('One\nTwo\nThe end\n')

test.each([
  ['as it was sent', 'One\r\nTwo\r\nThe end', true],
  ['with its end missing', 'One\r\nTwo', false],
  ['with a gap in the middle', 'One\r\nThe end', false],
  ['with a changed octet', 'One\r\nTwp\r\nThe end', false],
])('the exchanger verifies a message %s', async (_, text, whole) => {
  expect(await deliver(text, digest)).toBe(whole)
})
