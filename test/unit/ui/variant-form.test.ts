import { expect, test } from 'vitest'
import type { DraftForm } from '../../../ui/src/state/draft-form.ts'
import {
  abTestFormOf,
  givenAbTest,
  newAbTest,
  newVariant,
  planWords,
} from '../../../ui/src/state/ab-test-form.ts'
import { variantForm } from '../../../ui/src/state/variant-form.ts'

/** Tests the form of an A/B test: a variant shows variant A until a field of its own is written. */

const draft = (): DraftForm => ({
  name: 'Spring',
  segment: 's',
  exclude: [],
  topic: '',
  from: 'Books <news@sender.test>',
  replyTo: '',
  subject: 'One',
  preview: '',
  html: '<p>1</p>',
  text: null,
  document: null,
  abTest: newAbTest(),
})

test('a new variant shows what variant A says, also after that changes', () => {
  const form = draft()
  const variant = variantForm(form, 0)
  form.subject = 'Two'
  form.html = '<p>2</p>'
  expect([variant.subject, variant.html, variant.from]).toEqual([
    'Two',
    '<p>2</p>',
    'Books <news@sender.test>',
  ])
  expect(givenAbTest(form.abTest)).toEqual({
    share: 20,
    wait_hours: 4,
    variants: [{ from_name: null, subject: null, preview_text: null }],
  })
})

test('what is written is its own, until it says the same again', () => {
  const form = draft()
  const variant = variantForm(form, 0)
  variant.subject = 'Mine'
  variant.html = '<p>Mine</p>'
  form.abTest!.variants[0]!.fromName = ' Grace '
  expect([form.subject, form.html]).toEqual(['One', '<p>1</p>'])
  expect([variant.subject, variant.html, variant.text, variant.from]).toEqual([
    'Mine',
    '<p>Mine</p>',
    null,
    'Grace <news@sender.test>',
  ])
  variant.subject = 'One'
  variant.preview = 'Look'
  expect(givenAbTest(form.abTest)!.variants).toEqual([
    { from_name: 'Grace', subject: null, preview_text: 'Look', html: '<p>Mine</p>', text: null },
  ])
  form.abTest!.variants[0]!.body = null
  expect(variant.html).toBe('<p>1</p>')
})

test('a variant made of blocks is saved as a document', () => {
  const form = draft()
  Object.assign(variantForm(form, 0), { document: { version: 1 }, html: '<p>b</p>', text: 'b' })
  expect(givenAbTest(form.abTest)!.variants![0]).toMatchObject({ document: { version: 1 } })
  expect(givenAbTest(form.abTest)!.variants![0]).not.toHaveProperty('html')
  expect(form.document).toBeNull()
})

test('a saved test becomes the same request again', () => {
  const variants = [
    {
      variant: 'B' as const,
      from_name: 'Grace',
      subject: 'Two',
      preview_text: '',
      html: null,
      text: null,
      document: null,
    },
    {
      variant: 'C' as const,
      from_name: null,
      subject: null,
      preview_text: null,
      html: '<p>c</p>',
      text: '',
      document: null,
    },
  ]
  expect(givenAbTest(abTestFormOf({ share: 100, wait_hours: null, variants }))).toEqual({
    share: 100,
    wait_hours: null,
    variants: [
      { from_name: 'Grace', subject: 'Two', preview_text: '' },
      { from_name: null, subject: null, preview_text: null, html: '<p>c</p>', text: '' },
    ],
  })
  expect([abTestFormOf(null), givenAbTest(null)]).toEqual([null, null])
})

test('the plan says who gets what, and what follows', () => {
  const test = { share: 20, waitHours: 8, variants: [newVariant(), newVariant()] }
  expect(planWords(test, 3000)).toBe(
    '20% get one of 3 variants, about 200 contacts each. 8 h after the last test email, the variant whose links most people click goes to the rest.',
  )
  expect(planWords({ ...test, share: 100 }, 3000)).toBe(
    'Everybody gets one of 3 variants, about 1,000 contacts each. No winner is sent.',
  )
})
