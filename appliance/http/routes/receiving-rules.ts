import * as api from '../../api/receiving-rules.ts'
import { parseMailbox } from '../../mail/address.ts'
import { refuse } from '../../mail/refusals.ts'
import type { ReceivingRule } from '../../mail/receiving-rules.ts'
import { callerOf } from '../access.ts'
import { readReceivingRules } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Printable ASCII of a local part, or non-ASCII text (RFC 6531 §3.3); no space, quote or `@`. */
const PATTERN = /^[^\s"(),:;<>@[\\\]\x00-\x20\x7f]+$/

/** Routes for what domains do with mail to their addresses. */
export function receivingRuleRoutes(app: App, deps: HttpDeps): void {
  const { storage, senders, clock } = deps

  serve(app, api.getReceivingRules, {}, async (request) => {
    const { teamId } = callerOf(request)
    const { id } = await senders.getDomain({ teamId, id: request.params.id })
    const rules = await storage.getReceivingRules({ teamId, domainId: id }, clock.now())
    return { object: 'receiving_rules' as const, domain_id: id, rules }
  })

  const audit = {
    action: 'domain.receiving_rules',
    noun: 'domain',
    read: readReceivingRules(deps),
  } as const
  serve(app, api.setReceivingRules, { audit }, async (request) => {
    const { teamId } = callerOf(request)
    const { id } = await senders.getDomain({ teamId, id: request.params.id })
    const rules = request.body.rules.map(readRule)
    await storage.setReceivingRules({ teamId, domainId: id, rules }, clock.now())
    return { object: 'receiving_rules' as const, domain_id: id, rules }
  })
}

function readRule({ pattern, action, to }: ReceivingRule, place: number): ReceivingRule {
  if (!PATTERN.test(pattern))
    throw refuse('invalid_field', {
      field: `rules[${place}].pattern`,
      expected: 'the part of an address before the @, with * for any text',
    })
  const rule = { pattern: pattern.normalize('NFC').toLowerCase(), action }
  if ((action === 'forward') !== (to !== undefined))
    throw refuse('invalid_field', {
      field: `rules[${place}].to`,
      expected: 'one or more addresses with the action forward, and nothing with the others',
    })
  return to === undefined ? rule : { ...rule, to: readAddresses(to, `rules[${place}].to`) }
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
