/**
 * Reads the rules of receiving domains. Separate from receiving-rules.ts, because browsers load that file, too. Pure.
 */
import { parseMailbox } from './address.ts'
import type { ReceivingRule } from './receiving-rules.ts'
import { refuse } from './refusals.ts'

/** Printable ASCII of a local part, or non-ASCII text (RFC 6531 §3.3); no space, quote or `@`. */
const PATTERN = /^[^\s"(),:;<>@[\\\]\x00-\x20\x7f]+$/

/**
 * Checks a rule and writes it in its standard form. Refuses: `invalid_field`.
 * @param prefix what to put before field names in refusals
 */
export function normalizeRule({ pattern, action, to }: ReceivingRule, prefix: string): ReceivingRule {
  if (!PATTERN.test(pattern))
    throw refuse('invalid_field', {
      field: `${prefix}pattern`,
      expected: 'the part of an address before the @, with * for any text',
    })
  const rule = { pattern: pattern.normalize('NFC').toLowerCase(), action }
  if ((action === 'forward') !== (to !== undefined))
    throw refuse('invalid_field', {
      field: `${prefix}to`,
      expected: 'one or more addresses with the action forward, and nothing with the others',
    })
  return to === undefined ? rule : { ...rule, to: readAddresses(to, `${prefix}to`) }
}

function readAddresses(to: readonly string[], field: string): string[] {
  const addresses = to.map((text, at) => {
    const mailbox = parseMailbox(text)
    if (mailbox?.name !== '')
      throw refuse('invalid_field', {
        field: `${field}[${at}]`,
        expected: 'an address such as ada@example.org',
      })
    return mailbox.address
  })
  return [...new Set(addresses)]
}
