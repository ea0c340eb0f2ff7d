import { loadBounces } from '../../../appliance/config/bounces.ts'
import { loadReturnedMail } from '../../../appliance/config/returned-mail.ts'
import { createClassifier } from '../../../appliance/mail/classify.ts'
import type { ReadingRules } from '../../../appliance/inbound/reading/read-returned.ts'

/** Returns the shipped tables, combined as in the program: rules for reports come before rules for servers. */
export function shippedRules(): ReadingRules {
  const { formats, reasons } = loadReturnedMail()
  const rules = [...reasons, ...loadBounces()]
  return { formats, categorize: createClassifier(() => rules) }
}
