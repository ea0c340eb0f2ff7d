/** Reads the bounce rules, a TOML file of [[rule]] tables. Validates the whole file and reports all errors at once. */
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import {
  BOUNCE_ACTIONS,
  BOUNCE_CATEGORIES,
  SHAPING_ACTIONS,
  BOUNCE_SUBTYPES,
  type BounceRule,
  type BounceCategory,
  type BounceSubtype,
} from '../mail/bounce.ts'
import { checkValue } from './check-value.ts'
import type { KeySchema } from './keys.ts'
import { explainUnsafePattern } from './pattern.ts'
import { readTables, type ReportError } from './tables.ts'

/** The rules shipped with the program. */
const SHIPPED_BOUNCES = join(import.meta.dirname, '..', '..', 'config', 'bounces.toml')

/** Phases in which a server replies (mail/verdict.ts). */
const PHASES = ['connect', 'greeting', 'ehlo', 'starttls', 'mail', 'rcpt', 'data', 'body'] as const

const oneOf = <const T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>(Type.Union(values.map((one) => Type.Literal(one))))
const some = Type.Optional(Type.Array(Type.String(), { minItems: 1 }))

const RuleSchema = Type.Object({
  topic: Type.String(),
  category: oneOf(BOUNCE_CATEGORIES),
  action: oneOf(BOUNCE_ACTIONS),
  says: Type.String(),
  sub_type: Type.Optional(oneOf(BOUNCE_SUBTYPES)),
  code: some,
  enhanced: some,
  text: some,
  phase: Type.Optional(Type.Array(oneOf(PHASES), { minItems: 1 })),
  provider: some,
  advice: Type.Optional(Type.String()),
  link: Type.Optional(Type.String()),
  shaping: Type.Optional(oneOf(SHAPING_ACTIONS)),
  minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 1440 })),
})
type Written = Static<typeof RuleSchema>

/**
 * Loads the rules in order of precedence: the operator's own file, then the shipped one.
 * @throws InvalidTable
 */
export function loadBounceRules(file?: string): readonly BounceRule[] {
  return [...(file === undefined ? [] : readRules(file)), ...readRules(SHIPPED_BOUNCES)]
}

function readRules(file: string): BounceRule[] {
  return readTables('The bounce rules', file, ({ rule = [], ...others }, complain) => {
    for (const key of Object.keys(others)) complain(key, `unknown key ${key}; a rule starts with [[rule]].`)
    if (Array.isArray(rule)) return rule.flatMap((one, at) => parseRule(one, `rule[${at}]`, complain))
    complain('rule', 'rule must be a list: write [[rule]] before each rule.')
    return []
  })
}

/** Reads one rule; undefined when it is invalid, which is reported. */
export function parseRule(value: unknown, path: string, complain: ReportError): BounceRule[] {
  const misfits = checkValue(RuleSchema as unknown as KeySchema, value, path)
  for (const misfit of misfits)
    complain(misfit.path, `${misfit.path} is ${misfit.found}; expected ${misfit.expected}.`)
  if (misfits.length > 0) return []
  const written = value as Written // It matches the schema that Written is derived from.
  const wrong = complaintsOf(written)
  for (const [key, message] of wrong) complain(`${path}.${key}`, `${path}.${key} ${message}.`)
  return wrong.length > 0 ? [] : [assemble(written)]
}

type Wrong = [key: keyof Written, message: string]

const CODE = /^[45](?:\d\d|\dx|xx)$/
const ENHANCED = /^[45x]\.(?:\d{1,3}|x)\.(?:\d{1,3}(?:-\d{1,3})?|x)$/
const CONDITIONS = ['code', 'enhanced', 'text', 'phase', 'provider'] as const

/** Checks a rule whose fields have the right types. Returns for each error the key, and the rest of the sentence. */
function complaintsOf(rule: Written): Wrong[] {
  const { topic, category, action, code = [], enhanced = [], text = [], link, shaping, minutes } = rule
  const found: (Wrong | false)[] = [
    !/^[a-z][a-z0-9-]{0,49}$/.test(topic) && [
      'topic',
      'is not a valid name: use lowercase letters, digits and -, at most 50',
    ],
    CONDITIONS.every((key) => rule[key] === undefined) && [
      'topic',
      `has no condition, so it would match every reply: set one of ${CONDITIONS.join(', ')}`,
    ],
    action === 'suppress' &&
      category !== 'recipient' && [
        'action',
        'is "suppress", which only the category "recipient" can have: no other category shows that the address is invalid',
      ],
    category === 'reputation' &&
      action !== 'defer' && [
        'action',
        `is "${action}"; the category "reputation" accepts only "defer": it concerns the sending IP, never the recipient`,
      ],
    (shaping === undefined) !== (minutes === undefined) && [
      shaping === undefined ? 'minutes' : 'shaping',
      'requires both shaping and minutes: set both or neither',
    ],
    link !== undefined &&
      !/^https:\/\/[^\s]+$|^mailto:[^\s]+$/.test(link) && ['link', 'is not an https: or mailto: URL'],
    link !== undefined && rule.advice === undefined && ['link', 'requires an advice'],
    ...code.map(
      (one): Wrong | false =>
        !CODE.test(one) && ['code', `has "${one}"; expected a code such as 550, 55x or 5xx`],
    ),
    ...enhanced.map(
      (one): Wrong | false =>
        !ENHANCED.test(one) && [
          'enhanced',
          `has "${one}"; expected a code such as 5.1.1, x.1.1, 5.7.x or 5.7.606-649`,
        ],
    ),
    ...text.map((one): Wrong | false => complaintOfPattern(one)),
  ]
  return found.filter((one) => one !== false)
}

function complaintOfPattern(pattern: string): Wrong | false {
  try {
    compile(pattern)
  } catch (error) {
    // The regular expression engine's message says what the error is, and where.
    return ['text', `has a pattern that is not a regular expression (${(error as Error).message})`]
  }
  const unsafe = explainUnsafePattern(pattern)
  return unsafe !== undefined && ['text', `has a pattern that ${unsafe}: ${pattern}`]
}

const compile = (pattern: string): RegExp => new RegExp(pattern, 'iu')

/** The wire format's subtype for each category. A rule can override it. */
const SUB_TYPE_OF: Partial<Record<BounceCategory, BounceSubtype>> = {
  recipient: 'NoEmail',
  'mailbox-full': 'MailboxFull',
  size: 'MessageTooLarge',
  content: 'ContentRejected',
}

function assemble(rule: Written): BounceRule {
  const { topic, category, action, says, code, enhanced, text, phase, provider } = rule
  const { sub_type: subType, advice, link, shaping, minutes } = rule
  return {
    topic,
    category,
    action,
    says,
    subType: subType ?? SUB_TYPE_OF[category] ?? 'General',
    ...(code && { code }),
    ...(enhanced && { enhanced }),
    ...(text && { text: text.map(compile) }),
    ...(phase && { phase }),
    ...(provider && { provider }),
    ...(advice !== undefined && { advice: { text: advice, ...(link !== undefined && { link }) } }),
    ...(shaping === undefined || minutes === undefined ? {} : { shaping: { kind: shaping, minutes } }),
  }
}
