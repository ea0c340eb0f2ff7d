/** Labels, colors and icons of contacts and pasted addresses. */
import BellOff from '@lucide/svelte/icons/bell-off'
import Check from '@lucide/svelte/icons/check'
import CircleDashed from '@lucide/svelte/icons/circle-dashed'
import ShieldOff from '@lucide/svelte/icons/shield-off'
import X from '@lucide/svelte/icons/x'
import type { ContactVerdict } from '../../../appliance/api/contact-batches.ts'
import type { FoundContact } from '../../../appliance/api/contacts.ts'
import type { StatusBadge } from './status.ts'

const SUBSCRIBED: StatusBadge = { word: 'subscribed', tone: 'green', icon: Check }
const UNSUBSCRIBED: StatusBadge = { word: 'unsubscribed', tone: 'slate', icon: BellOff }
const SUPPRESSED: StatusBadge = { word: 'suppressed', tone: 'slate', icon: ShieldOff }

/** Returns the label of a contact. "Suppressed" takes precedence, since a suppressed address receives nothing. */
export function getContactBadge({
  suppressed,
  unsubscribed,
}: Pick<FoundContact, 'suppressed' | 'unsubscribed'>): StatusBadge {
  if (suppressed) return SUPPRESSED
  return unsubscribed ? UNSUBSCRIBED : SUBSCRIBED
}

/** Labels of looked-up addresses. */
export const VERDICT_BADGES: Record<ContactVerdict, StatusBadge> = {
  new: { word: 'new', tone: 'green', icon: Check },
  known: { word: 'already a contact', tone: 'slate', icon: CircleDashed },
  unsubscribed: { word: 'stays unsubscribed', tone: 'amber', icon: BellOff },
  suppressed: { word: 'suppressed', tone: 'amber', icon: ShieldOff },
  invalid: { word: 'not an address', tone: 'red', icon: X },
}
