import { expect, test } from 'vitest'
import { formatTable } from '../../../appliance/commands/output.ts'

const ID = '0197c3e2-5a71-7000-8000-1c2d3e4f5061'

test('a table that fits the terminal has one line per row', () => {
  expect(formatTable(['ID', 'NAME'], [[ID, 'Shop']])).toEqual([`ID${' '.repeat(36)}NAME`, `${ID}  Shop`])
})

test('a table that is too wide breaks all rows at the same columns', () => {
  const rows = [
    [ID, 'https://shop.example/hooks/mail', 'enabled, works', '100 % of 71 taken'],
    [ID, 'https://x.example/', 'disabled', ''],
  ]
  expect(formatTable(['ID', 'ENDPOINT', 'STATE', 'LAST 24 HOURS'], rows)).toEqual([
    `ID${' '.repeat(36)}ENDPOINT`,
    '  STATE           LAST 24 HOURS',
    `${ID}  https://shop.example/hooks/mail`,
    '  enabled, works  100 % of 71 taken',
    `${ID}  https://x.example/`,
    '  disabled',
  ])
})

test('a column that is too wide is wrapped at words, and long words stay whole', () => {
  const sentence =
    'It may be switched off once no mail from before the day of the change is on its way any more.'
  const lines = formatTable(
    ['SELECTOR', 'MEANING'],
    [
      ['posthaste', sentence],
      ['other', 'x'.repeat(90)],
    ],
  )
  expect(lines).toEqual([
    'SELECTOR',
    '  MEANING',
    'posthaste',
    '  It may be switched off once no mail from before the day of the change is on',
    '  its way any more.',
    'other',
    `  ${'x'.repeat(90)}`,
  ])
})
