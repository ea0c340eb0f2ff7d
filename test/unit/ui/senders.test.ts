import { expect, test } from 'vitest'
import { sendersFor, sendersOf } from '../../../ui/src/state/senders.ts'

/** Tests the suggestions for the From field. */

test('suggests senders that were used at verified domains, newest first, then one for each other domain', () => {
  const used = [
    'Acme <news@acme.example>',
    'gone@unverified.example',
    'Acme <news@acme.example>',
    'help@Acme.example',
  ]
  expect(sendersOf({ domains: ['zoo.example', 'acme.example', 'beta.example'], used, team: 'Acme' })).toEqual(
    ['Acme <news@acme.example>', 'help@Acme.example', 'Acme <news@beta.example>', 'Acme <news@zoo.example>'],
  )
})

test('leaves out characters of the team’s name that would need quotes, and lists at most 50', () => {
  const of = (team: string) => sendersOf({ domains: ['acme.example'], used: [], team })
  expect(of('"Acme", Inc. <x@y>')).toEqual(['Acme Inc. xy <news@acme.example>'])
  expect(of('"')).toEqual(['news@acme.example'])
  const domains = Array.from({ length: 60 }, (_, n) => `d${n}.example`)
  expect(sendersOf({ domains, used: [], team: 'A' })).toHaveLength(50)
})

test('filters by the typed text, and shows all when one is chosen', () => {
  const all = ['Acme <news@acme.example>', 'help@acme.example']
  expect(sendersFor(all, ' HELP')).toEqual(['help@acme.example'])
  expect(sendersFor(all, '')).toEqual(all)
  expect(sendersFor(all, 'help@acme.example ')).toEqual(all)
  expect(sendersFor(all, 'nobody')).toEqual([])
})
