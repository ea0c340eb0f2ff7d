import { generateKeyPairSync } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { describe, expect, test } from 'vitest'
import { signMessage, type SignedMessage } from '../../../appliance/delivery/signed-message.ts'
import type { PreparedMessage } from '../../../appliance/delivery/message.ts'
import { createSigner } from '../../../appliance/signing/signing.ts'
import {
  type DkimKey,
  type Domain,
  type LeasedDelivery,
  MissingMessage,
} from '../../../appliance/storage/storage.ts'
import { createSilentLogger, type Logger } from '../../../appliance/watch/log.ts'
import { createTestClock } from '../../world/clock.ts'

const pair = generateKeyPairSync('ed25519')
const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'der' })
const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')
const key: Partial<DkimKey> = { id: 'key', selector: 'posthaste', algorithm: 'ed25519-sha256', privateKey }
const domain = { id: 'domain', name: 'sender.test', tls: 'opportunistic' } as Domain
const delivery = { emailId: 'email', returnPath: 'bounce@send.sender.test', scheduledAt: null }

let signatures = 0
async function signedOf(message: string): Promise<SignedMessage> {
  const signer = createSigner()
  signatures = 0
  const signed = await signMessage(delivery as LeasedDelivery, {
    storage: {
      getMessage: async () => Buffer.from(message),
      getDomain: async () => domain,
      signingKeys: async () => [key as DkimKey],
    },
    signer: { sign: (...args) => (signatures++, signer.sign(...args)) },
    clock: createTestClock(),
    log: createSilentLogger(),
  })
  if (signed.kind === 'failed') throw new Error(signed.failure.note)
  return signed
}

async function dkim({ bytes }: PreparedMessage): Promise<string[]> {
  const resolver = async () => [[`v=DKIM1; k=ed25519; p=${publicKey}`]]
  const report = (await dkimVerify(bytes, { resolver })) as { results: { status: { result: string } }[] }
  return report.results.map(({ status }) => status.result)
}

const header = 'From: alice@sender.test\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n'

describe('a signed message', () => {
  test('a message whose file is missing waits, and only the log says where the file should be', async () => {
    const lost = new MissingMessage('It should be in /data/messages/x.')
    const storage = {
      getMessage: () => Promise.reject(lost),
      getDomain: async () => domain,
      signingKeys: async () => [key as DkimKey],
    }
    const logged: unknown[] = []
    const log = { error: (about: unknown) => logged.push(about) } as unknown as Logger
    const deps = { storage, signer: createSigner(), clock: createTestClock(), log }
    expect(await signMessage(delivery as LeasedDelivery, deps)).toEqual({
      kind: 'failed',
      failure: {
        kind: 'internal',
        phase: 'sign',
        host: null,
        ip: null,
        reply: null,
        note: 'The content of the email is missing on this server.',
      },
    })
    expect(logged).toEqual([{ email_id: 'email', err: lost }])
  })

  test('converts a message for a server without 8BITMIME once, on demand, and signs it again', async () => {
    const body = 'Content-Transfer-Encoding: 8bit\r\n\r\nGrüße an alle dort\r\n'
    const { message, sevenBit } = await signedOf(header + body)
    expect(message.bytes.toString()).toContain(header + body)
    expect(message).toMatchObject({ eightBit: true, eightBitHeader: false })
    expect([await dkim(message), signatures]).toEqual([['pass'], 1])
    const [converted, again] = (await Promise.all([sevenBit(), sevenBit()])) as [
      PreparedMessage,
      PreparedMessage,
    ]
    expect(again).toBe(converted)
    expect(converted).toMatchObject({ eightBit: false, converted: true })
    expect(converted.bytes.toString('latin1')).toContain(
      `${header}Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=C3=BC=C3=9Fe an alle dort\r\n`,
    )
    expect([await dkim(converted), signatures]).toEqual([['pass'], 2])
  })

  test('returns the reason why a message cannot be converted', async () => {
    const { sevenBit } = await signedOf(`${header}Content-Transfer-Encoding: x-own\r\n\r\nü\r\n`)
    expect(await sevenBit()).toEqual({
      impossible: 'a part of type text/plain has the unknown encoding x-own',
    })
  })
})
