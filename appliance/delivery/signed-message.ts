import type { Clock } from '../clock/clock.ts'
import type { SigningIdentity } from '../mail/transcript.ts'
import { encodeHeader } from '../mime/encode-header.ts'
import { convertToSevenBit } from '../mime/seven-bit.ts'
import type { Signer } from '../signing/signing.ts'
import { type LeasedDelivery, readOrMissing, type Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { type PreparedMessage, prepareMessage, updateDate, convertToCrlf } from './message.ts'
import type { Failure } from './outcome.ts'
import { resolveTlsPreference, type TlsPreference } from './policy/policy.ts'
import type { SevenBitConverter } from './supported.ts'

/** The message with its signatures prepended, and its return path. */
export interface SignedMessage {
  kind: 'signed'
  from: string
  message: PreparedMessage
  sevenBit: SevenBitConverter
  signatures: SigningIdentity[]
  /** The sender's TLS requirement, or else the sending domain's. */
  wish: TlsPreference
}

export interface SignedMessageDeps {
  storage: Pick<Storage, 'getMessage' | 'getDomain' | 'signingKeys'>
  signer: Signer
  clock: Clock
  log: Pick<Logger, 'error'>
}

function failed(kind: Failure['kind'], note: string): { kind: 'failed'; failure: Failure } {
  return { kind: 'failed', failure: { kind, phase: 'sign', host: null, ip: null, reply: null, note } }
}

/** Loads the message and signs it with every active key of its domain. Mail is never sent unsigned. */
export async function signMessage(
  delivery: LeasedDelivery,
  { storage, signer, clock, log }: SignedMessageDeps,
): Promise<SignedMessage | { kind: 'failed'; failure: Failure }> {
  const { emailId, domainId, teamId, returnPath, scheduledAt } = delivery
  const now = clock.now()
  const [message, domain, keys] = await Promise.all([
    readOrMissing(storage.getMessage({ emailId }, now), log, { email_id: emailId }),
    storage.getDomain({ teamId, id: domainId }, now),
    storage.signingKeys({ domainId }, now),
  ])
  if (!message) return failed('gone', 'The message is no longer stored, so it cannot be delivered.')
  // The mail waits until someone restores the file or object, or until it expires.
  if (message === 'missing') return failed('internal', 'The content of the email is missing on this server.')
  if (!domain) return failed('gone', 'The sending domain was removed before delivery.')
  if (keys.length === 0)
    return failed('gone', `The domain ${domain.name} has no active DKIM key to sign with.`)

  const whole = encodeHeader(await convertToCrlf(message))
  const bytes = scheduledAt === null ? whole : updateDate(whole, scheduledAt)
  const ours = keys.map((key) => ({ ...key, domain: domain.name }))
  const sign = async (unsigned: Buffer) => prepareMessage(await signer.sign(unsigned, ours, now), unsigned)
  try {
    const wish = resolveTlsPreference(delivery.requireTls, domain.tls)
    const by = keys.map(({ selector, algorithm }) => ({ domain: domain.name, selector, algorithm }))
    return {
      kind: 'signed',
      from: returnPath,
      message: await sign(bytes),
      sevenBit: conversion(bytes, sign),
      signatures: by,
      wish,
    }
  } catch (error) {
    // An unreadable key is a local problem; the mail waits until someone fixes it.
    const why = error instanceof Error ? error.message : String(error)
    return failed('internal', `The message could not be signed with the DKIM keys of ${domain.name}: ${why}`)
  }
}

/** Returns a function that converts the message on first use, and only once, because hardly any server needs this. */
function conversion(bytes: Buffer, sign: (unsigned: Buffer) => Promise<PreparedMessage>): SevenBitConverter {
  const convert: SevenBitConverter = async () => {
    const made = await convertToSevenBit(bytes)
    return made.kind === 'impossible'
      ? { impossible: made.why }
      : { ...(await sign(made.message)), converted: true }
  }
  let made: ReturnType<SevenBitConverter> | undefined
  return () => (made ??= convert())
}
