import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { explainUnsafePattern } from '../../../appliance/config/pattern.ts'
import { loadBounceRules, InvalidTable } from '../../../appliance/config/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-bounces-'))
const file = join(folder, 'bounces.toml')

function load(toml: string) {
  writeFileSync(file, toml)
  return loadBounceRules(file)
}

/** Returns the errors about a file, without its folder. */
function refused(toml: string): string[] {
  try {
    load(toml)
  } catch (error) {
    if (!(error instanceof InvalidTable)) throw error
    return error.message.replaceAll(`${folder}/`, '').split('\n  ').slice(1)
  }
  throw new Error('the rules were taken')
}

const rule = (...lines: string[]): string =>
  [
    '[[rule]]',
    'topic = "mine"',
    'category = "policy"',
    'action = "bounce"',
    'says = "says no"',
    ...lines,
  ].join('\n')

describe('bounces.toml', () => {
  test('loads the shipped rules', () => {
    expect(loadBounceRules().length).toBeGreaterThan(60)
  })

  test('puts the operator’s rules before the shipped ones', () => {
    const rules = load(rule('code = ["550"]', "text = ['\\bnope\\b']", 'provider = ["yahoo"]'))
    expect(rules[0]).toEqual({
      topic: 'mine',
      category: 'policy',
      action: 'bounce',
      says: 'says no',
      subType: 'General',
      code: ['550'],
      text: [/\bnope\b/iu],
      provider: ['yahoo'],
    })
    expect(rules.slice(1)).toEqual(loadBounceRules())
  })

  test('loads the advice, link and shaping of a rule', () => {
    const [first] = load(
      rule(
        'code = ["5xx"]',
        'advice = "Ask."',
        'link = "https://example.org/"',
        'shaping = "slow"',
        'minutes = 5',
      ),
    )
    expect(first).toMatchObject({
      advice: { text: 'Ask.', link: 'https://example.org/' },
      shaping: { kind: 'slow', minutes: 5 },
    })
  })

  test('reports every error with its line', () => {
    const toml = [
      '[[rule]]',
      'topic = "mine"',
      'category = "policy"',
      'action = "bounce"',
      'says = "says no"',
      'colour = "red"',
      '',
      rule('phase = ["quit"]'),
      '',
      rule('code = ["250"]', 'enhanced = ["5.1"]'),
    ].join('\n')
    expect(refused(toml)).toEqual([
      'bounces.toml:6: rule[0].colour is an unknown key; expected topic, category, action, says, sub_type, code, enhanced, text, phase, provider, advice, link, shaping, minutes.',
      'bounces.toml:13: rule[1].phase[0] is "quit"; expected "connect", "greeting", "ehlo", "starttls", "mail", "rcpt", "data" or "body".',
      'bounces.toml:20: rule[2].code has "250"; expected a code such as 550, 55x or 5xx.',
      'bounces.toml:21: rule[2].enhanced has "5.1"; expected a code such as 5.1.1, x.1.1, 5.7.x or 5.7.606-649.',
    ])
  })

  test.each([
    [['code = ["250"]'], 'rule[0].code has "250"; expected a code such as 550, 55x or 5xx.'],
    [
      ['enhanced = ["5.1"]'],
      'rule[0].enhanced has "5.1"; expected a code such as 5.1.1, x.1.1, 5.7.x or 5.7.606-649.',
    ],
    [
      [],
      'rule[0].topic has no condition, so it would match every reply: set one of code, enhanced, text, phase, provider.',
    ],
    [
      ['text = ["("]'],
      'rule[0].text has a pattern that is not a regular expression (Invalid regular expression: /(/iu: Unterminated group).',
    ],
    [['text = ["(a+)+b"]'], 'rule[0].text has a pattern that repeats a group with +: (a+)+b.'],
    [
      ['code = ["5xx"]', 'minutes = 5'],
      'rule[0].minutes requires both shaping and minutes: set both or neither.',
    ],
    [
      ['code = ["5xx"]', 'shaping = "slow"'],
      'rule[0].shaping requires both shaping and minutes: set both or neither.',
    ],
    [['code = ["5xx"]', 'link = "https://a.example/"'], 'rule[0].link requires an advice.'],
    [
      ['code = ["5xx"]', 'advice = "Ask."', 'link = "javascript:x"'],
      'rule[0].link is not an https: or mailto: URL.',
    ],
  ])('rejects %j: %s', (lines, complaint) => {
    expect(refused(rule(...lines)).map((one) => one.replace(/^bounces\.toml:\d+: /, ''))).toEqual([complaint])
  })

  test('allows the action suppress only for the category recipient', () => {
    const toml = rule('code = ["550"]').replace('"bounce"', '"suppress"')
    expect(refused(toml)).toEqual([
      'bounces.toml:4: rule[0].action is "suppress", which only the category "recipient" can have: no other category shows that the address is invalid.',
    ])
  })

  test('allows only the action defer for the category reputation', () => {
    const toml = rule('code = ["550"]').replace('"policy"', '"reputation"')
    expect(refused(toml)).toEqual([
      'bounces.toml:4: rule[0].action is "bounce"; the category "reputation" accepts only "defer": it concerns the sending IP, never the recipient.',
    ])
  })

  test('rejects a file that contains no bounce rules', () => {
    expect(refused('rules = 1')).toEqual(['bounces.toml:1: unknown key rules; a rule starts with [[rule]].'])
    expect(refused('rule = 1')).toEqual([
      'bounces.toml:1: rule must be a list: write [[rule]] before each rule.',
    ])
  })

  test('reports an unreadable file and invalid TOML', () => {
    expect(() => loadBounceRules(join(folder, 'none.toml'))).toThrow('none.toml: it cannot be read (ENOENT).')
    expect(refused('[[rule]\n')[0]).toMatch(/^bounces\.toml:1: not TOML at column \d+: /)
  })
})

describe('whyUnsafe', () => {
  test.each([
    ['user unknown', undefined],
    ['user (is )?(unknown|not known)', undefined],
    ['mailbox.{0,80}full', undefined],
    ['\\d{1,3}\\.\\d{1,3}', undefined],
    ['[^>]*>', undefined],
    ['(?<!not )temporary', undefined],
    ['a\\+b', undefined],
    ['[+*]{2}', undefined],
    ['(a|b)*', 'repeats a group with *'],
    ['(ab){2,3}', 'repeats a group with {2,3}'],
    ['x.*y', 'has .*; use .{0,80}'],
    ['x.+y', 'has .+; use .{0,80}'],
    ['x.{0,}y', 'allows more than 100 repetitions with {0,}'],
    ['x{101}', 'allows more than 100 repetitions with {101}'],
    ['x.{0,500}y', 'allows more than 100 repetitions with {0,500}'],
    ['(a)\\1', 'has a backreference'],
    ['a+b+c+d+', 'has more than 3 quantifiers in one alternative'],
  ])('the safety check of the pattern %s returns %s', (pattern, why) => {
    expect(explainUnsafePattern(pattern)).toBe(why)
  })
})
