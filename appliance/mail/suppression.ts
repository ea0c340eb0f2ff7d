/** Why an address is no longer sent to, in the words of the wire format (reference §2.13, §5.3). Pure. */
import type { EventData } from './event.ts'
import type { Cause, SuppressionOrigin } from './verdict.ts'

/**
 * What makes two addresses one for suppressing: the whole address in lower case. Local parts could differ by case
 * (RFC 5321 §2.4), but no provider of note lets them, and mail to an address that complained costs more than a
 * suppressed twin.
 * @param address the domain in A-labels
 */
export function suppressionKey(address: string): string {
  return address.normalize('NFC').toLowerCase()
}

const WHY: Record<SuppressionOrigin, string> = {
  bounce: 'an earlier message to it bounced permanently',
  complaint: 'the recipient reported an earlier message as spam',
  manual: 'a team member added it to the suppression list',
}

/** The cause of a delivery that is not made because of an entry on the suppression list. */
export function suppressedCause({ origin }: { origin: SuppressionOrigin }): Cause {
  const note = `Not sent: the address is suppressed because ${WHY[origin]}. To send to it again, remove it from the suppression list.`
  // RFC 3463 §3.8: delivery not authorised.
  return { phase: 'queue', host: null, ip: null, reply: null, status: '5.7.1', note, origin }
}

/** What `email.suppressed` tells beside the cause. */
export function suppressedData({ note, origin }: Cause): NonNullable<EventData['suppressed']> {
  return {
    message: note,
    type: origin === 'manual' ? 'OnAccountSuppressionList' : 'Suppressed',
    reason: origin === 'complaint' ? 'previous_complaint' : origin === 'bounce' ? 'previous_bounce' : null,
  }
}
