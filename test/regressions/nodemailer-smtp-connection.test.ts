import { once } from 'node:events'
import { connect } from 'node:net'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { afterEach, describe, expect, test } from 'vitest'
import { freeAddress } from '../world/addresses.ts'
import { dialog, type ScriptedServer, type ScriptStep, startScripted } from '../world/scripted.ts'

/**
 * Documents what nodemailer's SMTP client reports about three servers. This is why delivery has its own client
 * (docs/decisions/0005-our-own-smtp-client.md). If a test fails after an upgrade of nodemailer, that is good news:
 * reconsider the decision. test/unit/delivery/trouble.test.ts tests our client with the same servers.
 */

const open: (ScriptedServer | SMTPConnection)[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

/** Connects with nodemailer, past the greeting and EHLO if the server gets that far. */
async function dialThrough(script: ScriptStep[]) {
  const server = await startScripted({ address: freeAddress(), port: 0, script })
  const socket = connect(server.port, server.address)
  await once(socket, 'connect')
  const connection = new SMTPConnection({ connection: socket, name: 'mail.sender.test', ignoreTLS: true })
  open.push(connection, server)
  const errors: string[] = []
  connection.on('error', ({ message }: Error) => errors.push(message))
  const ready = new Promise<void>((resolve) => {
    connection.connect(() => resolve())
  })
  return { server, connection, errors, ready }
}

interface Result {
  /** The error that the caller gets; undefined after a success. */
  error: string | undefined
  /** The recipients that are reported to the caller as refused. */
  refused: string[]
  accepted: unknown[] | undefined
}

function send(connection: SMTPConnection, to: string[], message: Buffer): Promise<Result> {
  return new Promise((resolve) => {
    connection.send({ from: 'bounce@sender.test', to }, message, (error, info) => {
      const { rejectedErrors = [] } = (error ?? info) as { rejectedErrors?: { recipient: string }[] }
      const refused = rejectedErrors.map(({ recipient }) => recipient)
      resolve({ error: error?.message, refused, accepted: info?.accepted })
    })
  })
}

const hello = dialog(`
  S: 220 mx
  C: EHLO mail.sender.test
  S: 250-mx
  S: 250 PIPELINING`)

const five = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@x.test`)
const small = Buffer.from('Subject: x\r\n\r\nHello\r\n')

describe('nodemailer’s SMTPConnection', () => {
  test('loses all rejections of a pipelined envelope when the server closes after its replies', async () => {
    const commands = ['MAIL FROM:<bounce@sender.test>', ...five.map((one) => `RCPT TO:<${one}>`), 'DATA']
    const replies = `250 ok\r\n${'550 5.1.1 no such user\r\n'.repeat(5)}503 5.5.1 no valid recipients\r\n`
    const { server, connection, ready } = await dialThrough([
      ...hello,
      ...commands.map((expect) => ({ expect })),
      { send: replies },
      { close: 'end' },
    ])
    await ready
    const result = await send(connection, five, small)
    expect(server.connections[0]).toMatchObject({ complete: true, mismatch: null })
    expect(result).toEqual({
      error: 'Connection closed unexpectedly',
      refused: [],
      accepted: undefined,
    })
  })

  test('reports a message as accepted when the server replies before it is fully sent', async () => {
    const { server, connection, ready } = await dialThrough([
      ...hello,
      { expect: /^MAIL / },
      { expect: /^RCPT / },
      { expect: 'DATA' },
      { send: '250 ok\r\n250 ok\r\n354 go on\r\n250 queued\r\n' },
    ])
    await ready
    const message = Buffer.alloc(30_000_000, `${'x'.repeat(70)}\r\n`)
    const result = await send(connection, ['bob@x.test'], message)
    const { received } = server.connections[0]!
    expect(result).toEqual({ error: undefined, refused: [], accepted: ['bob@x.test'] })
    expect(received.length).toBeLessThan(message.length / 2)
    expect(received.includes('\r\n.\r\n')).toBe(false)
  })

  test('queues over a million blank lines from a server that sends nothing else', async () => {
    const limit = 1024 * 1024
    const { connection, errors } = await dialThrough([
      ...dialog('S: 220 mx\n C: EHLO *'),
      { send: Buffer.alloc(3 * limit, '\r\n') },
    ])
    const kept = connection as unknown as { _responseQueue: string[] }
    await expect.poll(() => kept._responseQueue.length, { interval: 5 }).toBeGreaterThan(limit)
    expect(errors).toEqual([])
    // nodemailer processes one line per turn of the event loop. Without this, the remaining lines would keep the
    // process busy.
    kept._responseQueue.length = 0
  })
})
