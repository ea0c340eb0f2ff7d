import { describe, expect, test } from 'vitest'
import {
  countCompletedSteps,
  pickSetupDomain,
  getCurrentStep,
  type SetupFacts,
} from '../../../ui/src/state/set-up.ts'

const verified = { id: 'v', name: 'good.example', status: 'verified' } as const
const waiting = { id: 'w', name: 'new.example', status: 'pending' } as const
const nothing: SetupFacts = { domains: [], keys: 0, email: null }
const email = (last_event: 'delivered' | 'opened' | 'bounced' | 'sent') => ({ id: 'e', last_event })

describe('the current setup step', () => {
  test.each<[string, SetupFacts | null, boolean, string]>([
    ['nobody is signed in', null, false, 'owner'],
    ['nothing is set up', nothing, false, 'host'],
    ['the host checks are done', nothing, true, 'domain'],
    ['a domain is pending', { ...nothing, domains: [waiting] }, false, 'domain'],
    ['a domain is verified', { ...nothing, domains: [waiting, verified] }, false, 'key'],
    ['a key exists', { ...nothing, domains: [verified], keys: 1 }, false, 'email'],
    ['an email is not delivered yet', { domains: [verified], keys: 1, email: email('sent') }, false, 'email'],
    ['an email bounced', { domains: [verified], keys: 1, email: email('bounced') }, false, 'email'],
    ['an email was delivered', { domains: [verified], keys: 1, email: email('delivered') }, false, 'done'],
    ['an email was opened', { domains: [verified], keys: 1, email: email('opened') }, false, 'done'],
  ])('the current setup step is correct when %s', (_, facts, accepted, step) => {
    expect(getCurrentStep(facts, accepted)).toBe(step)
  })

  test('the current setup step has the right number of steps before it', () => {
    expect((['owner', 'host', 'email', 'done'] as const).map(countCompletedSteps)).toEqual([0, 1, 4, 5])
  })

  test('the setup step is about a verified domain, or else the oldest one', () => {
    expect(pickSetupDomain({ ...nothing, domains: [waiting, verified] })).toBe(verified)
    expect(pickSetupDomain({ ...nothing, domains: [{ ...waiting, id: 'newer' }, waiting] })).toBe(waiting)
    expect(pickSetupDomain(nothing)).toBeUndefined()
  })
})
