/** The commands about receiving rules: what a domain does with mail to its addresses. */
import {
  formatRule,
  MAX_RULES_PER_DOMAIN,
  type ReceivingAction,
  type ReceivingRule,
} from '../mail/receiving-rules.ts'
import { normalizeRule } from '../mail/read-receiving-rule.ts'
import type { Domain } from '../storage/storage.ts'
import type { Context } from './context.ts'
import { findDomainByName } from './domain.ts'
import { Failure } from './failure.ts'
import { formatTable } from './output.ts'

/** Runs `inbound rules`. */
export async function listRules(context: Context, name: string): Promise<void> {
  const domain = await findDomainByName(context, name)
  print(context, domain, await rulesOf(context, domain))
}

/** `inbound add-rule`: without a position, the rule goes last, but before a rule for all addresses. */
export async function addRule(
  context: Context,
  [name = '', pattern = '', action = '']: string[],
  { to, place }: { to?: string[]; place?: number },
): Promise<void> {
  const domain = await findDomainByName(context, name)
  const rule = normalizeRule({ pattern, action: action as ReceivingAction, to }, '')
  const rules = await rulesOf(context, domain)
  const index = rules.findIndex((one) => one.pattern === rule.pattern)
  if (index >= 0)
    throw new Failure(`Rule ${index + 1} has this pattern already. Remove it first, or use another pattern.`)
  if (rules.length >= MAX_RULES_PER_DOMAIN)
    throw new Failure(`A domain has at most ${MAX_RULES_PER_DOMAIN} rules. Remove one first.`)
  await replace(context, domain, rules.toSpliced(placeOf(rules, place), 0, rule))
}

/** Runs `inbound remove-rule`. */
export async function removeRule(context: Context, [name = '', pattern = '']: string[]): Promise<void> {
  const domain = await findDomainByName(context, name)
  const rules = await rulesOf(context, domain)
  const kept = rules.filter((one) => one.pattern !== pattern.normalize('NFC').toLowerCase())
  if (kept.length === rules.length)
    throw new Failure(
      `${domain.name} has no rule for ${pattern}. See: posthaste inbound rules ${domain.name}`,
    )
  await replace(context, domain, kept)
}

function placeOf(rules: readonly ReceivingRule[], place: number | undefined): number {
  if (place !== undefined) return place - 1
  return rules.at(-1)?.pattern === '*' ? rules.length - 1 : rules.length
}

const rulesOf = ({ storage, clock }: Context, { id, teamId }: Domain): Promise<ReceivingRule[]> =>
  storage.getReceivingRules({ teamId, domainId: id }, clock.now())

async function replace(context: Context, domain: Domain, rules: ReceivingRule[]): Promise<void> {
  const { storage, clock } = context
  await storage.setReceivingRules({ teamId: domain.teamId, domainId: domain.id, rules }, clock.now())
  print(context, domain, rules)
}

function print({ output }: Context, { id, name }: Domain, rules: ReceivingRule[]): void {
  output.object({ object: 'receiving_rules', domain_id: id, rules })
  if (rules.length === 0) return output.text(`${name} has no rules: it keeps all mail.`)
  const rows = rules.map((rule, index) => [`${index + 1}`, formatRule(rule)])
  output.text(...formatTable(['PLACE', 'RULE'], rows))
}
