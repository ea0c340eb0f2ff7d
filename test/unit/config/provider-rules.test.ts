import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadProviderRules, InvalidTable } from '../../../appliance/config/config.ts'

const file = join(mkdtempSync(join(tmpdir(), 'posthaste-rules-')), 'rules.toml')

function load(toml: string) {
  writeFileSync(file, toml)
  return loadProviderRules(file)
}
const PROVIDER = '[[provider]]\nid = "mine"\nname = "Mine"\nbulk = 10\ndomains = ["Mine.example"]\n'
const rule = (...lines: string[]) =>
  [
    '[[rule]]',
    'id = "mine-dmarc"',
    'provider = "mine"',
    'source = "https://mine.example/"',
    ...lines,
    '',
  ].join('\n')

test("the operator's provider rules replace the shipped ones", () => {
  expect(load(PROVIDER + rule('check = "dmarc"', 'date = 2025-01-02', 'bulk = true'))).toEqual({
    providers: [{ id: 'mine', name: 'Mine', bulk: 10, domains: ['mine.example'] }],
    rules: [
      {
        id: 'mine-dmarc',
        provider: 'mine',
        check: 'dmarc',
        bulk: true,
        limit: null,
        reply: null,
        source: 'https://mine.example/',
        date: '2025-01-02',
      },
    ],
  })
})

test('errors in provider rules are reported with their lines', () => {
  const wrong = [
    PROVIDER,
    rule('check = "smell"', 'date = 2025-01-02'),
    rule('check = "complaints"', 'date = "soon"'),
    rule('check = "dmarc"', 'date = 2025-01-02', 'limit = 0.1').replace('"mine"', '"other"'),
    '[[provider]]\nid = "b"\n',
  ]
  let message = ''
  try {
    load(wrong.join(''))
  } catch (error) {
    if (!(error instanceof InvalidTable)) throw error
    message = error.message.replaceAll(file, 'rules.toml')
  }
  expect(message.split('\n  ')).toEqual([
    'The provider rules could not be loaded:',
    `rules.toml:10: rule[0].check is "smell"; expected "spf-or-dkim", "spf", "dkim", "dmarc", "reverse-dns", "tls", "complaints", "one-click" or "freemail".`,
    'rules.toml:12: rule[1].limit is required for the check "complaints", and only for it.',
    'rules.toml:17: rule[1].date is not a date such as 2024-02-01.',
    'rules.toml:19: rule[2].id "mine-dmarc" is used twice.',
    'rules.toml:20: rule[2].provider "other" is not the id of a [[provider]].',
    'rules.toml:24: rule[2].limit is required for the check "complaints", and only for it.',
    'rules.toml:25: provider[1].name is missing; expected a string.',
    'rules.toml:25: provider[1].bulk is missing; expected a whole number from 1 to 9007199254740991.',
    'rules.toml:25: provider[1].domains is missing; expected a list of one or more strings.',
  ])
})
