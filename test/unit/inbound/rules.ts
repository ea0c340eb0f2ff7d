import { loadBounces } from '../../../appliance/config/bounces.ts'
import { loadReturnedMail } from '../../../appliance/config/returned-mail.ts'
import { createClassifier } from '../../../appliance/mail/classify.ts'
import type { ReadingRules } from '../../../appliance/inbound/reading/read-returned.ts'

/** The shipped tables, as the program puts them together: what reports alone say precedes what servers say. */
export function shippedRules(): ReadingRules {
  const { formats, reasons } = loadReturnedMail()
  const rules = [...reasons, ...loadBounces()]
  return { formats, categorize: createClassifier(() => rules) }
}
