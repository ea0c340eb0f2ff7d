import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { loadPlans, InvalidPlans } from '../../../appliance/config/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-plans-'))
const file = join(folder, 'plans.toml')
afterAll(() => rmSync(folder, { recursive: true }))

const load = (toml: string) => {
  writeFileSync(file, toml)
  return loadPlans(file)
}

/** Returns the error's lines, without the file's folder. */
function refused(toml: string): string[] {
  try {
    load(toml)
  } catch (error) {
    if (!(error instanceof InvalidPlans)) throw error
    return error.message.replaceAll(`${folder}/`, '').split('\n  ').slice(1)
  }
  throw new Error('It was not refused.')
}

describe('plans.toml', () => {
  test('ships the plans unlimited and free', () => {
    expect(Object.fromEntries(loadPlans())).toEqual({
      unlimited: { daily: null, monthly: null },
      free: { daily: 100, monthly: 3000 },
    })
  })

  test('accepts plans with and without limits', () => {
    expect(Object.fromEntries(load('[unlimited]\n[small]\nmonthly = 10\n[closed]\ndaily = 0\n'))).toEqual({
      unlimited: { daily: null, monthly: null },
      small: { daily: null, monthly: 10 },
      closed: { daily: 0, monthly: null },
    })
  })

  test('reports every error in plans.toml with its line', () => {
    const toml = [
      'basic = 5',
      '[unlimited]',
      '[free]',
      'daily = "many"',
      'monthly = 1.5',
      'hourly = 3',
      '[Gold]',
      'daily = -1',
    ]
    expect(refused(toml.join('\n'))).toEqual([
      'plans.toml:1: basic must be a table: write [basic] with its limits below it.',
      'plans.toml:4: free.daily is "many"; expected a whole number of recipients, 0 or more.',
      'plans.toml:5: free.monthly is 1.5; expected a whole number of recipients, 0 or more.',
      'plans.toml:6: unknown limit free.hourly; expected daily or monthly.',
      'plans.toml:7: Gold is not a valid plan name: use lowercase letters, digits, - and _, at most 50.',
      'plans.toml:8: Gold.daily is -1; expected a whole number of recipients, 0 or more.',
    ])
  })

  test('rejects plans.toml without the plan of new teams', () => {
    expect(refused('[free]\ndaily = 1\n')).toEqual([
      'plans.toml: the plan [unlimited] is missing. New teams start with it.',
    ])
  })

  test('rejects plans.toml if it is invalid TOML or missing', () => {
    expect(refused('[unlimited]\n[free\n')[0]).toMatch(/^plans\.toml:2: not TOML at column \d+: /)
    expect(() => loadPlans(join(folder, 'none.toml'))).toThrow('none.toml: it cannot be read (ENOENT).')
  })
})
