import type { Reply } from '../mail/reply.ts'
import { createSuppressionCause } from '../mail/suppression.ts'
import type { Transcript } from '../mail/transcript.ts'
import type { Cause, Verdict } from '../mail/verdict.ts'
import type { DeliveryChange, LeasedDelivery } from '../storage/storage.ts'
import { computeChange } from './changes.ts'
import { TEST_OUTCOMES, getTestOutcome } from '../mail/address.ts'

/** The result to store for a batch of test addresses. */
export interface EmulatedResult {
  transcript: Transcript
  changes: DeliveryChange[]
}

/**
 * Determines the result for a batch of test addresses. Makes no lookup or connection; pure except for new IDs. Test
 * addresses are never suppressed, so that every test gives the same result.
 * @param domains the domains of test addresses, in lower case
 */
export function emulateDelivery(
  batch: readonly LeasedDelivery[],
  domains: readonly string[],
  now: number,
): EmulatedResult {
  const note = 'Test address: Posthaste looks nothing up and sends nothing.'
  const lookUp = { name: 'resolve' as const, host: null, ip: null, sent: null, reply: null, note }
  return {
    transcript: { steps: [{ ...lookUp, at: 0, ms: 0 }], host: null, ip: null, tls: null },
    changes: batch.map((delivery) => changeAt(delivery, domains, now)),
  }
}

function changeAt(delivery: LeasedDelivery, domains: readonly string[], now: number): DeliveryChange {
  const outcome = getTestOutcome(delivery.recipient, domains)
  const change = computeChange(delivery, verdictOf(delivery, outcome), now)
  // Reports have no sender, so they cause no event.
  if (outcome !== 'complained' || change.event === null) return change
  return { ...change, complaint: 'Test address: it always reports messages as spam.' }
}

function verdictOf({ domain }: LeasedDelivery, outcome: ReturnType<typeof getTestOutcome>): Verdict {
  switch (outcome) {
    case 'delivered':
    case 'complained':
      return { kind: 'delivered', cause: accepted(domain) }
    case 'suppressed':
      return { kind: 'suppressed', cause: createSuppressionCause({ origin: 'bounce' }) }
    case 'bounced':
      return refused(domain, 'Test address: it bounces every message as if the address did not exist.')
    case 'unknown':
    case null:
      return refused(domain, `Unknown test address. Available: ${TEST_OUTCOMES.join('@, ')}@.`)
  }
}

const cause = (phase: Cause['phase'], domain: string, reply: Reply, note: string): Cause => ({
  phase,
  host: domain,
  ip: null,
  reply,
  note,
})

function accepted(domain: string): Cause {
  const reply = { code: 250, enhanced: '2.0.0', text: 'Ok (test address)' }
  return cause('body', domain, reply, 'Test address: it accepts every message.')
}

/** Bad destination mailbox address (RFC 3463 §3.2, X.1.1). */
function refused(domain: string, note: string): Verdict {
  const reply = { code: 550, enhanced: '5.1.1', text: 'User unknown (test address)' }
  const found: Cause = { ...cause('rcpt', domain, reply, note), category: 'recipient' }
  return { kind: 'bounced', cause: found, subType: 'NoEmail', suppress: false }
}
