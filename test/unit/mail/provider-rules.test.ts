import { describe, expect, test } from 'vitest'
import { loadProviderRules } from '../../../appliance/config/config.ts'
import { createInsight } from '../../../appliance/mail/insight.ts'
import {
  breaksRule,
  evaluateRules,
  formatProblem,
  RULE_CHECKS,
  selectRules,
  mergeRuleInsights,
  type RuleCheck,
  type RuleFacts,
} from '../../../appliance/mail/provider-rules.ts'

/** Tests the rules of mailbox providers as shipped: each with mail that keeps to it, and mail that breaks it. */

const table = loadProviderRules()
const good: RuleFacts = {
  domain: 'shop.example',
  broken: { spf: false, dkim: false, dmarc: false },
  reverseDns: null,
  complaints: { delivered: 10_000, complained: 29 },
  tls: new Map(table.providers.map(({ id }) => [id, { sessions: 40, plain: 0 }])),
  oneClick: true,
}
const broken = (more: Partial<RuleFacts['broken']>) => ({ broken: { ...good.broken, ...more } })
const PTR = 'Set the PTR record of 192.0.2.1 to mail.shop.example.'
/** What breaks each check, and the reason that people read, of all providers that have such a rule. */
const WRONG: Record<RuleCheck, [Partial<RuleFacts>, string]> = {
  'spf-or-dkim': [
    broken({ spf: true, dkim: true }),
    'shop.example has neither a valid SPF nor a DKIM record, and mail to Gmail and Yahoo needs one of them: publish those shown for shop.example under Domains.',
  ],
  spf: [
    broken({ spf: true }),
    'shop.example has no valid SPF record, which bulk mail to Gmail, Yahoo and Outlook.com needs: publish the one shown for shop.example under Domains.',
  ],
  dkim: [
    broken({ dkim: true }),
    'shop.example has no valid DKIM record, which bulk mail to Gmail, Yahoo and Outlook.com needs: publish the one shown for shop.example under Domains.',
  ],
  dmarc: [
    broken({ dmarc: true }),
    'shop.example has no valid DMARC record, which bulk mail to Gmail, Yahoo and Outlook.com needs: publish the one shown for shop.example under Domains.',
  ],
  'reverse-dns': [
    { reverseDns: PTR },
    'The reverse DNS of a sending IP is wrong, and mail to Gmail, Yahoo and Outlook.com needs it: set the PTR record of 192.0.2.1 to mail.shop.example.',
  ],
  tls: [
    { tls: new Map([['google', { sessions: 40, plain: 3 }]]) },
    '3 of 40 connections to Gmail weren’t encrypted, which breaks a rule: let port 25 go out directly, because firewalls that inspect it often remove STARTTLS.',
  ],
  complaints: [
    { complaints: { delivered: 10_000, complained: 30 } },
    '0.3% of the emails of the last 7 days were reported as spam; the limit of Gmail and Yahoo is 0.3%: send only to people who asked for it until the rate has fallen.',
  ],
  'one-click': [
    { oneClick: false },
    'Readers can’t opt out with one click, which bulk mail to Gmail and Yahoo needs: set `http.public_url` to an https URL that everybody can reach.',
  ],
  freemail: [
    { domain: 'gmail.com' },
    'From is at gmail.com, and Gmail refuses mail from there that it didn’t send: send from a domain of your own.',
  ],
}
const all = selectRules(table, () => true)

describe('each built-in provider rule', () => {
  test.each(table.rules.map((rule) => [rule.id, rule] as const))(
    '%s detects a violation and cites a dated source',
    (_id, rule) => {
      const provider = table.providers.find(({ id }) => id === rule.provider)!
      expect(breaksRule(rule, provider, good)).toBe(false)
      const [facts] = rule.check === 'freemail' ? [{ domain: provider.domains[0]! }] : WRONG[rule.check]
      expect(breaksRule(rule, provider, { ...good, ...facts })).toBe(true)
      expect(rule.source).toMatch(/^https:\/\//)
      expect(rule.date >= '2024-01-01' && rule.date < '2027').toBe(true)
    },
  )

  test('compliant mail passes every rule, with one sentence per check', () => {
    const judged = evaluateRules(all, good, 'warn')
    expect(judged.map(({ id, verdict }) => `${verdict} ${id}`)).toEqual(
      RULE_CHECKS.map((check) => `pass rule-${check}`),
    )
    expect(new Set(judged.map(({ note }) => note)).size).toBe(RULE_CHECKS.length)
  })

  test.each(RULE_CHECKS)(
    'a broken rule has a reason that says what is wrong and how to fix it: %s',
    (check) => {
      const [facts, reason] = WRONG[check]
      const wrong = evaluateRules(all, { ...good, ...facts }, 'warn').filter(
        ({ verdict }) => verdict !== 'pass',
      )
      const expected = check === 'spf-or-dkim' ? ['rule-spf-or-dkim'] : [`rule-${check}`]
      expect(wrong.map(({ id }) => id)).toEqual(expected)
      expect(formatProblem(wrong[0]!)).toBe(reason)
      expect(wrong[0]!.evidence[0]).toMatch(/^https:/)
    },
  )
})

test('a broken rule blocks, warns or is omitted, depending on the mode', () => {
  const facts = { ...good, ...broken({ dmarc: true }) }
  expect(evaluateRules(all, facts, 'block')[0]).toMatchObject({ id: 'rule-dmarc', verdict: 'block' })
  expect(evaluateRules(all, facts, 'warn')[0]).toEqual({
    id: 'rule-dmarc',
    verdict: 'attention',
    note: 'shop.example has no valid DMARC record, which bulk mail to Gmail, Yahoo and Outlook.com needs.',
    why: 'Such mail is refused with 550 5.7.26 and 550 5.7.515, or lands in spam.',
    fix: 'Publish the one shown for shop.example under Domains.',
    evidence: table.rules.filter(({ check }) => check === 'dmarc').map(({ source }) => source),
  })
  expect(evaluateRules(all, facts, 'off')).toEqual([])
})

test('small senders are checked only against rules for all senders', () => {
  const yahoo = selectRules(table, ({ id }) => id === 'yahoo')
  expect(yahoo.flatMap(({ rule }) => (rule.bulk ? [rule.id] : []))).toEqual([
    'yahoo-spf',
    'yahoo-dkim',
    'yahoo-dmarc',
    'yahoo-one-click',
  ])
  expect(evaluateRules(yahoo, { ...good, ...broken({ dmarc: true }) }, 'warn')[0]).toMatchObject({
    note: 'shop.example has no valid DMARC record, which bulk mail to Yahoo needs.',
  })
})

test('few complaints do not break a rule, and mail without opt-out does not require one-click', () => {
  const few = { ...good, complaints: { delivered: 100, complained: 3 } }
  expect(evaluateRules(all, few, 'warn').every(({ verdict }) => verdict === 'pass')).toBe(true)
  const api = evaluateRules(all, { ...good, oneClick: null }, 'warn')
  expect(api.some(({ id }) => id === 'rule-one-click')).toBe(false)
})

test('a broken rule about records replaces the general advice on DMARC', () => {
  const words = { note: 'n', why: 'w', fix: 'f', well: 'ok' }
  const [advice, other] = [
    createInsight('dmarc', 'attention', words),
    createInsight('reply', 'advice', words),
  ]
  const judged = evaluateRules(all, { ...good, ...broken({ dmarc: true }) }, 'block')
  const ids = (judgedBy: typeof judged) =>
    mergeRuleInsights([advice, other], judgedBy).flatMap(({ id, verdict }) =>
      verdict === 'pass' ? [] : [id],
    )
  expect(ids(judged)).toEqual(['rule-dmarc', 'reply'])
  expect(ids(evaluateRules(all, good, 'block'))).toEqual(['dmarc', 'reply'])
})
