import { loadBounceRules } from '../../../appliance/config/bounces.ts'
import { loadReturnedMailRules } from '../../../appliance/config/returned-mail.ts'
import { createClassifier } from '../../../appliance/mail/classify.ts'
import type { ClassificationRules } from '../../../appliance/inbound/reading/read-returned.ts'

/** Returns the shipped tables, combined as in the program: rules for reports come before rules for servers. */
export function shippedRules(): ClassificationRules {
  const { formats, reasons } = loadReturnedMailRules()
  const rules = [...reasons, ...loadBounceRules()]
  return { formats, categorize: createClassifier(() => rules) }
}
