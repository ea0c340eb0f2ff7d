import { describe, expect, test } from 'vitest'
import { extractId, filterByLabel } from '../../../ui/src/state/find.ts'

const PLACES = ['Emails', 'Domains', 'API keys', 'Create an API key'].map((label) => ({ label }))
const labels = (text: string) => filterByLabel(PLACES, text).map(({ label }) => label)

describe('the command palette', () => {
  test('the command palette matches the beginnings of words, in any order and case', () => {
    expect(labels('em')).toEqual(['Emails'])
    expect(labels('KEY api')).toEqual(['API keys', 'Create an API key'])
    expect(labels('a')).toEqual(['API keys', 'Create an API key'])
    expect(labels('mails')).toEqual([])
  })

  test('the command palette shows all entries before anything is typed', () => {
    expect(labels('  ')).toHaveLength(4)
  })

  test('extracts an ID from pasted text', () => {
    const id = '01890000-0000-7000-8000-00000000000a'
    expect(extractId(` https://mail.example.org/dashboard/emails/${id.toUpperCase()}?tab=text`)).toBe(id)
    expect(extractId('01890000-0000-7000')).toBeNull()
  })
})
