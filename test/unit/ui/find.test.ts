import { describe, expect, test } from 'vitest'
import { idIn, matching } from '../../../ui/src/state/find.ts'

const PLACES = ['Emails', 'Domains', 'API keys', 'Create an API key'].map((label) => ({ label }))
const labels = (text: string) => matching(PLACES, text).map(({ label }) => label)

describe('the palette', () => {
  test('finds by the beginnings of words, in any order and case', () => {
    expect(labels('em')).toEqual(['Emails'])
    expect(labels('KEY api')).toEqual(['API keys', 'Create an API key'])
    expect(labels('a')).toEqual(['API keys', 'Create an API key'])
    expect(labels('mails')).toEqual([])
  })

  test('shows everything before something is typed', () => {
    expect(labels('  ')).toHaveLength(4)
  })

  test('finds the id in what was pasted around it', () => {
    const id = '01890000-0000-7000-8000-00000000000a'
    expect(idIn(` https://mail.example.org/dashboard/emails/${id.toUpperCase()}?tab=text`)).toBe(id)
    expect(idIn('01890000-0000-7000')).toBeNull()
  })
})
