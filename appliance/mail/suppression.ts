/** Suppressed addresses, and the reasons in the terms of the wire format (reference §2.13, §5.3). Pure. */
import type { EventData } from './event.ts'
import type { Cause, SuppressionOrigin } from './verdict.ts'

/**
 * Normalizes an address for the suppression list: all lower case. Local parts may be case-sensitive (RFC 5321 §2.4),
 * but no large provider makes them so, and mail to an address that complained does more harm than suppressing one that
 * differs in case.
 * @param address with its domain in A-labels
 */
export function toSuppressionKey(address: string): string {
  return address.normalize('NFC').toLowerCase()
}

const WHY: Record<SuppressionOrigin, string> = {
  bounce: 'an earlier message to it bounced permanently',
  complaint: 'the recipient reported an earlier message as spam',
  manual: 'a team member added it to the suppression list',
}

/** Returns the cause of a delivery suppressed because of an entry on the suppression list. */
export function createSuppressionCause({ origin }: { origin: SuppressionOrigin }): Cause {
  const note = `Not sent: the address is suppressed because ${WHY[origin]}. To send to it again, remove it from the suppression list.`
  // Delivery not authorized (RFC 3463 §3.8).
  return { phase: 'queue', host: null, ip: null, reply: null, status: '5.7.1', note, origin }
}

/** Returns the payload of `email.suppressed` other than the cause. */
export function createSuppressionData({ note, origin }: Cause): NonNullable<EventData['suppressed']> {
  return {
    message: note,
    type: origin === 'manual' ? 'OnAccountSuppressionList' : 'Suppressed',
    reason: origin === 'complaint' ? 'previous_complaint' : origin === 'bounce' ? 'previous_bounce' : null,
  }
}
