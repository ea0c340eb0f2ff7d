import type { Clock } from '../clock/clock.ts'
import type { Signer } from '../signing/signing.ts'
import type { Domain, LeasedDelivery, Storage } from '../storage/storage.ts'
import type { Call } from './converse.ts'
import { type Prepared, prepare, redate, withCrlf } from './message.ts'
import type { Failure } from './outcome.ts'

/** The message with its signatures in front, and its return path. */
export interface Letter {
  kind: 'signed'
  from: string
  message: Prepared
  /** What the sender asks for, or else the sending domain. */
  tls: Call['tls']
}

export interface LetterDeps {
  storage: Pick<Storage, 'getMessage' | 'getDomain' | 'signingKeys'>
  signer: Signer
  clock: Clock
}

function failed(kind: Failure['kind'], note: string): { kind: 'failed'; failure: Failure } {
  return { kind: 'failed', failure: { kind, phase: 'sign', host: null, ip: null, reply: null, note } }
}

/** One message's own word goes before its domain's setting, in both directions (RFC 8689 §4.2). */
function tlsFor(requireTls: LeasedDelivery['requireTls'], setting: Domain['tls']): Call['tls'] {
  if (requireTls === 'yes') return 'requiretls'
  return requireTls === null && setting === 'enforced' ? 'required' : 'opportunistic'
}

/** Loads the message and signs it with every active key of its domain; mail never goes out unsigned. */
export async function signed(
  delivery: LeasedDelivery,
  { storage, signer, clock }: LetterDeps,
): Promise<Letter | { kind: 'failed'; failure: Failure }> {
  const { emailId, domainId, teamId, returnPath, scheduledAt } = delivery
  const now = clock.now()
  const [message, domain, keys] = await Promise.all([
    storage.getMessage({ emailId }, now),
    storage.getDomain({ teamId, id: domainId }, now),
    storage.signingKeys({ domainId }, now),
  ])
  if (!message) return failed('gone', 'The message is no longer stored, so there is nothing to deliver.')
  if (!domain) return failed('gone', 'The sending domain was removed before delivery.')
  if (keys.length === 0)
    return failed('gone', `The domain ${domain.name} has no active DKIM key to sign with.`)

  const whole = withCrlf(message)
  const bytes = scheduledAt === null ? whole : redate(whole, scheduledAt)
  try {
    const signatures = await signer.sign(
      bytes,
      keys.map((key) => ({ ...key, domain: domain.name })),
      now,
    )
    const tls = tlsFor(delivery.requireTls, domain.tls)
    return { kind: 'signed', from: returnPath, message: prepare(signatures, bytes), tls }
  } catch (error) {
    // A key that cannot be read is our fault; the mail waits for somebody to repair it.
    const why = error instanceof Error ? error.message : String(error)
    return failed('internal', `The message could not be signed with the DKIM keys of ${domain.name}: ${why}`)
  }
}
